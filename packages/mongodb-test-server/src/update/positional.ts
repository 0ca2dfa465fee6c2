import { CommandError } from "../errors.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import type { FieldTest, Filter } from "../query/filter.ts";
import { matches, valueMatches } from "../query/matches.ts";
import type { Variables } from "../query/matches.ts";
import { parseFilter } from "../query/parse.ts";
import { parseFieldTests } from "../query/parse-tests.ts";
import { readPath } from "./modify-path.ts";

export type ElementTest = (element: Value, variables: Variables) => boolean;

const testOf = (name: string, filter: Document): ElementTest => {
  const entries = Object.entries(filter);
  const inner = entries.map(([path, value]): ElementTest => {
    if (path === name) {
      const hasOperators = isDocument(value) && Object.keys(value)[0]?.startsWith("$") === true;
      const tests: FieldTest[] = hasOperators
        ? parseFieldTests(value, parseFilter)
        : [{ operator: "eq", value }];
      return (element, variables) => valueMatches(tests, element, variables);
    }
    const parsed = parseFilter({ [path.slice(name.length + 1)]: value });
    return (element, variables) => isDocument(element) && matches(parsed, element, variables);
  });
  return (element, variables) => inner.every((test) => test(element, variables));
};

/** Reads `arrayFilters`, by the identifier that their paths begin with. */
export const parseArrayFilters = (filters: Value): Map<string, ElementTest> => {
  const result = new Map<string, ElementTest>();
  for (const filter of Array.isArray(filters) ? filters : []) {
    if (!isDocument(filter)) throw new CommandError("TypeMismatch", "an array filter has to be an object");
    const [first = ""] = Object.keys(filter);
    const [name = ""] = first.split(".");
    if (name.startsWith("$") || result.has(name)) {
      throw new CommandError("FailedToParse", `cannot use the array filter '${first}'`);
    }
    result.set(name, testOf(name, filter));
  }
  return result;
};

/** The place in the array through which a filter matched: what `$` stands for. */
export const findPosition = (
  filter: Filter,
  document: Document,
  variables: Variables,
): number | undefined => {
  if (filter.kind === "and") {
    for (const inner of filter.filters) {
      const position = findPosition(inner, document, variables);
      if (position !== undefined) return position;
    }
  }
  if (filter.kind !== "field") return undefined;
  for (let at = 1; at <= filter.parts.length; at++) {
    const array = readPath(document, filter.parts.slice(0, at));
    if (!Array.isArray(array)) continue;
    const rest = filter.parts.slice(at);
    const isThrough = (element: Value): boolean =>
      rest.length === 0
        ? filter.test.operator === "elementDocument" || filter.test.operator === "elementValue"
          ? valueMatches([filter.test], [element], variables)
          : valueMatches([filter.test], element, variables)
        : matches(
            { kind: "field", path: rest.join("."), parts: rest, test: filter.test },
            { ...Object(element) },
            variables,
          );
    const position = array.findIndex(isThrough);
    return position < 0 ? undefined : position;
  }
  return undefined;
};

export interface PositionalContext {
  readonly arrayFilters: ReadonlyMap<string, ElementTest>;
  readonly position: number | undefined;
  readonly variables: Variables;
}

/** The paths without `$`, `$[]` and `$[name]` that a path with them stands for in this document. */
export const expandPath = (
  document: Document,
  parts: readonly string[],
  context: PositionalContext,
): string[][] => {
  const at = parts.findIndex((part) => part.startsWith("$"));
  const placeholder = parts[at];
  if (placeholder === undefined) return [[...parts]];
  const before = parts.slice(0, at);
  const after = parts.slice(at + 1);
  if (placeholder === "$") {
    if (context.position === undefined) {
      throw new CommandError(
        "BadValue",
        "The positional operator did not find the match needed from the query.",
      );
    }
    return expandPath(document, [...before, String(context.position), ...after], context);
  }
  const array = readPath(document, before);
  if (!Array.isArray(array)) {
    throw new CommandError(
      "BadValue",
      `The path '${before.join(".")}' must exist in the document in order to apply array updates.`,
    );
  }
  const name = placeholder.slice(2, -1);
  const test = name === "" ? () => true : context.arrayFilters.get(name);
  if (test === undefined) {
    throw new CommandError(
      "BadValue",
      `No array filter found for identifier '${name}' in path '${parts.join(".")}'`,
    );
  }
  return array.flatMap((element: Value, index) =>
    test(element, context.variables)
      ? expandPath(document, [...before, String(index), ...after], context)
      : [],
  );
};
