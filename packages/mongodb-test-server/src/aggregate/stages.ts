import { Int32, Long } from "bson";
import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { expressionPath } from "../bson-values/paths.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { matches } from "../query/matches.ts";
import { parseFilter } from "../query/parse.ts";
import { createSortOrder } from "../query/sort-order.ts";
import { modifyPath, removePath } from "../update/modify-path.ts";
import { documentStages } from "./document-stages.ts";
import { group } from "./group.ts";
import { facet, lookup, unionWith } from "./joins.ts";
import type { Stage, StageCompiler } from "./stage.ts";

const count = (name: string, value: Value, least: number): number => {
  const number = isNumeric(value) ? toNumber(value) : Number.NaN;
  if (!(number >= least))
    throw new CommandError(15957, `the argument of ${name} has to be a number of at least ${least}`);
  return number;
};

const unwind: StageCompiler = (spec) => {
  const path = isDocument(spec) ? spec["path"] : spec;
  if (typeof path !== "string" || !path.startsWith("$")) {
    throw new CommandError(28818, "path option to $unwind stage should be prefixed with a '$'");
  }
  const keeps = isDocument(spec) && spec["preserveNullAndEmptyArrays"] === true;
  const indexField = isDocument(spec) ? spec["includeArrayIndex"] : undefined;
  const parts = path.slice(1).split(".");
  const withIndex = (document: Document, index: Value): Document =>
    typeof indexField === "string" ? modifyPath(document, indexField.split("."), () => index) : document;
  const unwindOne = (document: Document): Document[] => {
    const value = expressionPath(document, parts);
    if (Array.isArray(value) && value.length > 0) {
      return value.map((element: Value, index) =>
        withIndex(
          modifyPath(document, parts, () => element),
          Long.fromNumber(index),
        ),
      );
    }
    if (value !== undefined && value !== null && !Array.isArray(value)) return [withIndex(document, null)];
    if (!keeps) return [];
    return [withIndex(Array.isArray(value) ? removePath(document, parts) : document, null)];
  };
  return (documents) => documents.flatMap(unwindOne);
};

const sample: StageCompiler = (spec) => {
  const size = count("$sample", isDocument(spec) ? spec["size"] : undefined, 1);
  return (documents) =>
    documents
      .map((document) => ({ document, order: Math.random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, size)
      .map(({ document }) => document);
};

const stages: Readonly<Record<string, StageCompiler>> = {
  $match: (spec) => {
    const filter = parseFilter(spec);
    return (documents, { variables }) => documents.filter((document) => matches(filter, document, variables));
  },
  $sort: (spec) => {
    const order = createSortOrder(spec as Document);
    return (documents) => order.sort(documents, (document) => document);
  },
  $limit: (spec) => {
    const limit = count("$limit", spec, 1);
    return (documents) => documents.slice(0, limit);
  },
  $skip: (spec) => {
    const skip = count("$skip", spec, 0);
    return (documents) => documents.slice(skip);
  },
  $count: (spec) => {
    if (typeof spec !== "string") throw new CommandError(40156, "the count field must be a non-empty string");
    return (documents) => (documents.length === 0 ? [] : [{ [spec]: new Int32(documents.length) }]);
  },
  $sortByCount: (spec) => {
    const grouped = group({ _id: spec, count: { $sum: new Int32(1) } });
    const order = createSortOrder({ count: new Int32(-1) });
    return (documents, context) => order.sort(grouped(documents, context), (document) => document);
  },
  $group: group,
  $unwind: unwind,
  $lookup: lookup,
  $unionWith: unionWith,
  $facet: facet,
  $sample: sample,
};

/** Stages of the real server that are missing here. */
const otherStages = new Set([
  "$bucket",
  "$bucketAuto",
  "$changeStreamSplitLargeEvent",
  "$collStats",
  "$currentOp",
  "$densify",
  "$fill",
  "$geoNear",
  "$graphLookup",
  "$indexStats",
  "$listLocalSessions",
  "$listSessions",
  "$merge",
  "$out",
  "$planCacheStats",
  "$redact",
  "$search",
  "$setWindowFields",
]);

/** A stage that is not known is an error that names it. */
export const compileStage = (stage: Value): Stage => {
  const entries = isDocument(stage) ? Object.entries(stage) : [];
  const [name, spec] = entries[0] ?? ["", undefined];
  if (entries.length !== 1) {
    throw new CommandError(40323, "A pipeline stage specification object must contain exactly one field.");
  }
  const compile = stages[name];
  if (compile !== undefined) return compile(spec);
  const compileOne = documentStages[name];
  if (compileOne === undefined) {
    if (otherStages.has(name)) throw notImplemented(`the aggregation stage ${name}`);
    throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`);
  }
  const change = compileOne(spec);
  return (documents, { variables }) => documents.map((document) => change(document, variables));
};
