import { toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileStage } from "./stages.ts";
import type { PipelineContext } from "./stage.ts";

/** The beginning of a pipeline that is a query, and the rest of it. */
export interface SplitPipeline {
  readonly filter: Document;
  readonly sort: Document | undefined;
  readonly limit: number;
  readonly rest: readonly Value[];
}

const only = (stage: Value, name: string): Value =>
  isDocument(stage) && Object.keys(stage).length === 1 ? stage[name] : undefined;

/** `$match`, `$sort` and `$limit` at the beginning are answered by the planner. */
export const splitPipeline = (stages: readonly Value[]): SplitPipeline => {
  let at = 0;
  const filters: Document[] = [];
  for (let match = only(stages[at], "$match"); isDocument(match); match = only(stages[at], "$match")) {
    filters.push(match);
    at++;
  }
  const sort = only(stages[at], "$sort");
  if (isDocument(sort)) at++;
  const limit = only(stages[at], "$limit");
  const isLimited = limit !== undefined && toNumber(limit) > 0;
  if (isLimited) at++;
  return {
    filter: filters.length === 1 ? (filters[0] ?? {}) : filters.length === 0 ? {} : { $and: filters },
    sort: isDocument(sort) ? sort : undefined,
    limit: isLimited ? toNumber(limit) : 0,
    rest: stages.slice(at),
  };
};

export const runStages = (
  stages: readonly Value[],
  documents: readonly Document[],
  context: PipelineContext,
): Document[] =>
  stages
    .map((stage) => compileStage(stage))
    .reduce<Document[]>((current, stage) => stage(current, context), [...documents]);

export const createPipelineContext = (
  variables: PipelineContext["variables"],
  find: PipelineContext["find"],
): PipelineContext => {
  const context: PipelineContext = {
    variables,
    find,
    run: (stages, documents, inner) => runStages(stages, documents, { ...context, variables: inner }),
  };
  return context;
};
