import { CommandError } from "../errors.ts";
import { expressionPath } from "../bson-values/paths.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileExpression } from "../expressions/compile.ts";
import { namedParts } from "../expressions/arguments.ts";
import type { StageCompiler } from "./stage.ts";
import { modifyPath } from "../update/modify-path.ts";

const text = (name: string, value: Value): string => {
  if (typeof value === "string") return value;
  throw new CommandError("FailedToParse", `$lookup argument '${name}' must be a string`);
};

/** Equality of two fields, a pipeline with variables, or both. */
export const lookup: StageCompiler = (spec) => {
  const parts = namedParts(
    "$lookup",
    spec,
    ["from", "as"],
    ["localField", "foreignField", "let", "pipeline"],
  );
  const from = text("from", parts["from"]);
  const as = text("as", parts["as"]).split(".");
  const local =
    parts["localField"] === undefined ? undefined : text("localField", parts["localField"]).split(".");
  const foreign =
    parts["foreignField"] === undefined ? undefined : text("foreignField", parts["foreignField"]);
  const pipeline = (parts["pipeline"] ?? []) as Value[];
  const given = isDocument(parts["let"]) ? parts["let"] : {};
  const variables = Object.entries(given).map(([name, value]) => [name, compileExpression(value)] as const);

  return (documents, context) =>
    documents.map((document) => {
      const value = local === undefined ? undefined : (expressionPath(document, local) ?? null);
      const wanted: Value[] = Array.isArray(value) ? value : [value];
      const filter = foreign === undefined ? {} : { [foreign]: { $in: wanted } };
      const scope = { root: document, variables: context.variables };
      const inner = {
        ...context.variables,
        ...Object.fromEntries(variables.map(([name, evaluate]) => [name, evaluate(scope)])),
      };
      const joined = context.run(pipeline, context.find(from, filter), inner);
      return modifyPath(document, as, () => joined);
    });
};

export const unionWith: StageCompiler = (spec) => {
  const parts =
    typeof spec === "string" ? { coll: spec } : namedParts("$unionWith", spec, ["coll"], ["pipeline"]);
  const collection = text("coll", parts["coll"]);
  const pipeline = ("pipeline" in parts ? parts["pipeline"] : []) as Value[];
  return (documents, context) => [
    ...documents,
    ...context.run(pipeline, context.find(collection, {}), context.variables),
  ];
};

export const facet: StageCompiler = (spec) => {
  if (!isDocument(spec)) throw new CommandError(40169, "the $facet specification must be a non-empty object");
  return (documents, context) => {
    const result: Document = {};
    for (const [name, pipeline] of Object.entries(spec)) {
      result[name] = context.run(pipeline as Value[], documents, context.variables);
    }
    return [result];
  };
};
