import { type BacklogReads, createBacklogReads } from "./operations/backlog.ts";
import { type Blockers, createBlockers } from "./operations/blockers.ts";
import { createCascade } from "./operations/cascade.ts";
import { type Claims, createClaims } from "./operations/claim-jobs.ts";
import { type CommitOutcomes, prepareCommitOutcomes } from "./operations/commit-outcomes.ts";
import { type CreateJobs, prepareCreateJobs } from "./operations/create-jobs.ts";
import { createDeletion, type Deletion } from "./operations/deletion.ts";
import { createInterventions, type Interventions } from "./operations/interventions.ts";
import { createLeases, type Leases } from "./operations/leases.ts";
import { createPlainCompletions } from "./operations/plain-completions.ts";
import { createPruning, type Pruning } from "./operations/pruning.ts";
import { createQueries, type Queries } from "./operations/queries.ts";
import { prepareRedriveJobs, type RedriveJobs } from "./operations/redrive-jobs.ts";
import { createSequences, type Sequences } from "./operations/sequences.ts";
import type { Tables } from "./tables.ts";

/** Everything the adapter can do, over tables of these names; each takes the connection to do it on. */
export interface Operations
  extends
    Claims,
    Leases,
    Interventions,
    Deletion,
    Pruning,
    BacklogReads,
    Queries,
    Pick<Blockers, "addJobBlockers"> {
  readonly createJobs: CreateJobs;
  readonly commitOutcomes: CommitOutcomes;
  readonly redriveJobs: RedriveJobs;
  readonly sequences: Sequences;
}

export const createOperations = (tables: Tables): Operations => {
  const sequences = createSequences(tables);
  const cascade = createCascade(tables, sequences);
  const blockers = createBlockers(tables, sequences, cascade);
  return {
    sequences,
    addJobBlockers: blockers.addJobBlockers,
    createJobs: prepareCreateJobs(tables, sequences),
    commitOutcomes: prepareCommitOutcomes(tables, sequences, cascade, createPlainCompletions(tables)),
    redriveJobs: prepareRedriveJobs(tables, sequences, blockers),
    ...createClaims(tables),
    ...createLeases(tables),
    ...createInterventions(tables, sequences, cascade),
    ...createDeletion(tables),
    ...createPruning(tables),
    ...createBacklogReads(tables),
    ...createQueries(tables, sequences, blockers),
  };
};
