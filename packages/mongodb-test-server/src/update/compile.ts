import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { fieldOf, isDocument, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { documentStages } from "../aggregate/document-stages.ts";
import type { Filter } from "../query/filter.ts";
import type { Variables } from "../query/matches.ts";
import { applyModifications, parseModifications } from "./operators.ts";
import { findPosition, parseArrayFilters } from "./positional.ts";

export interface Update {
  readonly kind: "operators" | "replacement" | "pipeline";
  /** The document after the update; the same object when nothing was to be done. Does not look at `_id`. */
  apply(document: Document, variables: Variables, isInsert: boolean): Document;
}

const compilePipeline = (stages: readonly Value[]): Update => {
  const compiled = stages.map((stage) => {
    const entries = isDocument(stage) ? Object.entries(stage) : [];
    const [name, spec] = entries[0] ?? ["", undefined];
    const compile = entries.length === 1 ? documentStages[name] : undefined;
    if (compile === undefined) {
      throw new CommandError("InvalidOptions", `${name} is not allowed to be used within an update`);
    }
    return compile(spec);
  });
  return {
    kind: "pipeline",
    apply: (document, variables) => compiled.reduce((result, stage) => stage(result, variables), document),
  };
};

const compileReplacement = (replacement: Document): Update => ({
  kind: "replacement",
  apply: (document) => {
    const { _id: given, ...fields } = replacement;
    const id = given ?? fieldOf(document, "_id");
    return id === undefined ? fields : { _id: id, ...fields };
  },
});

const compileOperators = (update: Document, filter: Filter, arrayFilters: Value): Update => {
  const modifications = parseModifications(update);
  const filters = parseArrayFilters(arrayFilters);
  for (const name of filters.keys()) {
    if (!modifications.some(({ path }) => path.includes(`$[${name}]`))) {
      throw new CommandError(
        "FailedToParse",
        `The array filter for identifier '${name}' was not used in the update`,
      );
    }
  }
  return {
    kind: "operators",
    apply: (document, variables, isInsert) => {
      const needsPosition = modifications.some(({ path }) => path.split(".").includes("$"));
      const position = needsPosition ? findPosition(filter, document, variables) : undefined;
      return applyModifications(document, modifications, isInsert, {
        arrayFilters: filters,
        position,
        variables,
      });
    },
  };
};

export const compileUpdate = (update: Value, filter: Filter, arrayFilters: Value): Update => {
  if (Array.isArray(update)) return compilePipeline(update);
  if (!isDocument(update)) {
    throw new CommandError(
      "FailedToParse",
      `Update argument must be either an object or an array, not ${typeOf(update)}`,
    );
  }
  const [first] = Object.keys(update);
  return first?.startsWith("$") === true
    ? compileOperators(update, filter, arrayFilters)
    : compileReplacement(update);
};

/** Refuses an update that would change the `_id` of a document. */
export const checkIdKept = (before: Document, after: Document, kind: Update["kind"]): void => {
  if (compareValues(fieldOf(before, "_id"), fieldOf(after, "_id")) === 0) return;
  throw new CommandError(
    "ImmutableField",
    kind === "operators"
      ? "Performing an update on the path '_id' would modify the immutable field '_id'"
      : "After applying the update, the (immutable) field '_id' was found to have been altered",
  );
};
