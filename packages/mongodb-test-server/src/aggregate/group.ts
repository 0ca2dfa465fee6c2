import { CommandError, notImplemented } from "../errors.ts";
import { equalityKey } from "../bson-values/equality-key.ts";
import { isDocument, toBsonNumber } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileExpression } from "../expressions/compile.ts";
import { average, greatest, least, sum } from "../expressions/summaries.ts";
import type { StageCompiler } from "./stage.ts";

const distinctValues = (values: readonly Value[]): Value[] => [
  ...new Map(
    values.filter((value) => value !== undefined).map((value) => [equalityKey(value), value]),
  ).values(),
];

const mergeAll = (values: readonly Value[]): Document =>
  Object.assign({}, ...values.filter((value) => isDocument(value))) as Document;

/** Each gets the values of its expression for all documents of a group. */
const accumulators: Readonly<Record<string, (values: readonly Value[]) => Value>> = {
  $sum: sum,
  $avg: average,
  $max: greatest,
  $min: least,
  $first: (values) => values[0] ?? null,
  $last: (values) => values.at(-1) ?? null,
  $push: (values) => values.filter((value) => value !== undefined),
  $addToSet: distinctValues,
  $count: (values) => toBsonNumber(values.length),
  $mergeObjects: mergeAll,
};

const compileAccumulator = (
  field: string,
  spec: Value,
): ((documents: readonly Value[], variables: Document) => Value) => {
  const entries = isDocument(spec) ? Object.entries(spec) : [];
  const [name, argument] = entries[0] ?? ["", undefined];
  if (entries.length !== 1) {
    throw new CommandError(40238, `The field '${field}' must specify one accumulator`);
  }
  const accumulate = accumulators[name];
  if (accumulate === undefined) throw notImplemented(`the accumulator ${name}`);
  const expression = name === "$count" ? () => null : compileExpression(argument);
  return (documents, variables) => accumulate(documents.map((root) => expression({ root, variables })));
};

export const group: StageCompiler = (spec) => {
  if (!isDocument(spec) || !("_id" in spec)) {
    throw new CommandError(15955, "a group specification must include an _id");
  }
  const { _id: idSpec, ...fields } = spec;
  const id = compileExpression(idSpec);
  const compiled = Object.entries(fields).map(
    ([name, value]) => [name, compileAccumulator(name, value)] as const,
  );
  return (documents, { variables }) => {
    const groups = new Map<string, { id: Value; members: Document[] }>();
    for (const document of documents) {
      const value = id({ root: document, variables }) ?? null;
      const key = equalityKey(value);
      const known = groups.get(key);
      if (known === undefined) groups.set(key, { id: value, members: [document] });
      else known.members.push(document);
    }
    return [...groups.values()].map(({ id, members }) => ({
      _id: id,
      ...Object.fromEntries(compiled.map(([name, accumulate]) => [name, accumulate(members, variables)])),
    }));
  };
};
