import { CommandError } from "../errors.ts";
import { fieldOf, isDocument, setField, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { Expression, Scope } from "../expressions/scope.ts";
import { createProjection } from "../query/projection.ts";
import type { Variables } from "../query/matches.ts";

/** A stage that makes one document of one document: pipelines of updates have only these. */
export type DocumentStage = (document: Document, variables: Variables) => Document;

type Setter = (current: Value, scope: Scope) => Value;

const valueSetter =
  (expression: Expression): Setter =>
  (_, scope) =>
    expression(scope);

/** Sets a field below whatever is there: in every element of an array, in a new document in place of a scalar. */
const nestedSetter = (fields: readonly (readonly [string, Setter])[]): Setter => {
  const set: Setter = (current, scope) => {
    if (Array.isArray(current)) return current.map((element: Value) => set(element, scope));
    const result: Document = isDocument(current) ? { ...current } : {};
    for (const [name, inner] of fields) {
      const value = inner(fieldOf(result, name), scope);
      if (value === undefined) delete result[name];
      else setField(result, name, value);
    }
    return result;
  };
  return set;
};

const setterOf = (value: Value): Setter => {
  const isPlain =
    isDocument(value) && Object.keys(value).length > 0 && !Object.keys(value)[0]?.startsWith("$");
  return isPlain ? nestedSetter(settersOf(value)) : valueSetter(compileExpression(value));
};

const settersOf = (spec: Document): (readonly [string, Setter])[] =>
  Object.entries(spec).map(([path, value]) => {
    const [first = "", ...rest] = path.split(".");
    const setter = rest.reduceRight<Setter>((inner, name) => nestedSetter([[name, inner]]), setterOf(value));
    return [first, setter] as const;
  });

const addFields = (spec: Value): DocumentStage => {
  if (!isDocument(spec))
    throw new CommandError(40272, `$addFields specification stage must be an object, got ${typeOf(spec)}`);
  const setters = settersOf(spec);
  return (document, variables) => {
    const scope = { root: document, variables };
    const result = { ...document };
    for (const [name, setter] of setters) {
      const value = setter(fieldOf(result, name), scope);
      if (value === undefined) delete result[name];
      else setField(result, name, value);
    }
    return result;
  };
};

const unset = (spec: Value): DocumentStage => {
  const paths: readonly Value[] = Array.isArray(spec) ? spec : [spec];
  if (paths.length === 0 || !paths.every((path) => typeof path === "string")) {
    throw new CommandError(31002, "$unset specification must be a string or an array of strings");
  }
  return createProjection(Object.fromEntries(paths.map((path) => [path, false])));
};

const replaceWith = (spec: Value): DocumentStage => {
  const expression = compileExpression(spec);
  return (document, variables) => {
    const result = expression({ root: document, variables });
    if (isDocument(result)) return result;
    throw new CommandError(
      40228,
      `'replacement document' must evaluate to an object, but resulting value was of type: ${typeOf(result)}`,
    );
  };
};

const project = (spec: Value): DocumentStage => {
  if (!isDocument(spec) || Object.keys(spec).length === 0) {
    throw new CommandError(51272, "Invalid $project: a projection needs at least one field");
  }
  return createProjection(spec);
};

export const documentStages: Readonly<Record<string, (spec: Value) => DocumentStage>> = {
  $set: addFields,
  $addFields: addFields,
  $unset: unset,
  $project: project,
  $replaceWith: replaceWith,
  $replaceRoot: (spec) => replaceWith(isDocument(spec) ? spec["newRoot"] : undefined),
};
