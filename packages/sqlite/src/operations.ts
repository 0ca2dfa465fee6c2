import { type BacklogReads, createBacklogReads } from "./operations/measure-backlog.ts";
import { type Blockers, createBlockers } from "./operations/add-job-blockers.ts";
import { createDependants } from "./dependants.ts";
import { type Claims, createClaims } from "./operations/claim-jobs.ts";
import { type CommitOutcomes, prepareCommitOutcomes } from "./operations/commit-outcomes.ts";
import { type CreateJobs, prepareCreateJobs } from "./operations/create-jobs.ts";
import { createDeletion, type Deletion } from "./operations/delete-sequences.ts";
import { createInterventions, type Interventions } from "./operations/cancel-sequences.ts";
import { createLeases, type Leases } from "./operations/renew-leases.ts";
import { createPlainCompletions } from "./operations/plain-completions.ts";
import { createPruning, type Pruning } from "./operations/prune-sequences.ts";
import { createQueries, type Queries } from "./operations/list-jobs.ts";
import { prepareRedriveJobs, type RedriveJobs } from "./operations/redrive-jobs.ts";
import { createSequences, type Sequences } from "./operations/get-jobs.ts";
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
  const dependants = createDependants(tables, sequences);
  const blockers = createBlockers(tables, sequences, dependants);
  return {
    sequences,
    addJobBlockers: blockers.addJobBlockers,
    createJobs: prepareCreateJobs(tables, sequences),
    commitOutcomes: prepareCommitOutcomes(tables, sequences, dependants, createPlainCompletions(tables)),
    redriveJobs: prepareRedriveJobs(tables, sequences, blockers),
    ...createClaims(tables),
    ...createLeases(tables),
    ...createInterventions(tables, sequences, dependants),
    ...createDeletion(tables),
    ...createPruning(tables),
    ...createBacklogReads(tables),
    ...createQueries(tables, sequences, blockers),
  };
};
