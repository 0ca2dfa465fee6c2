import type { Document, Value } from "../bson-values/types.ts";
import type { Variables } from "../query/matches.ts";

/** What a stage may reach beside its documents: other collections, and the pipelines it contains. */
export interface PipelineContext {
  readonly variables: Variables;
  /** The visible documents of a collection of the same database, as `find` gives them. */
  readonly find: (collection: string, filter: Document) => Document[];
  readonly run: (
    stages: readonly Value[],
    documents: readonly Document[],
    variables: Variables,
  ) => Document[];
}

export type Stage = (documents: readonly Document[], context: PipelineContext) => Document[];
export type StageCompiler = (spec: Value) => Stage;
