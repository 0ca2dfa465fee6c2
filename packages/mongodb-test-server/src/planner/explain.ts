import type { Document } from "../bson-values/types.ts";
import type { Execution } from "./find-documents.ts";
import { describeInterval } from "./intervals.ts";
import type { Plan } from "./plan.ts";

const describePlan = (plan: Plan): Document => {
  if (plan.kind === "collection")
    return { stage: "COLLSCAN", direction: plan.direction === 1 ? "forward" : "backward" };
  if (plan.kind === "or") {
    return {
      stage: "FETCH",
      inputStage: { stage: "OR", inputStages: plan.plans.map((inner) => describePlan(inner)) },
    };
  }
  const { definition } = plan.index;
  const scan = {
    stage: "IXSCAN",
    keyPattern: definition.spec["key"],
    indexName: definition.name,
    isMultiKey: plan.index.isMultikey(),
    isUnique: definition.unique,
    isPartial: definition.partial !== undefined,
    direction: plan.direction === 1 ? "forward" : "backward",
    indexBounds: Object.fromEntries(
      definition.fields.map(({ path }, i) => [path, (plan.bounds[i] ?? []).map(describeInterval)]),
    ),
  };
  return {
    stage: "FETCH",
    inputStage: plan.merged > 0 ? { stage: "SORT_MERGE", inputStages: [scan] } : scan,
  };
};

/** What `explain` answers: the plan that was carried out and what it looked at. */
export const describeExecution = (
  { plan, sortsInMemory, counts, found }: Execution,
  namespace: string,
): Document => {
  const described = plan === undefined ? { stage: "EOF" } : describePlan(plan);
  const winningPlan = sortsInMemory ? { stage: "SORT", inputStage: described } : described;
  return {
    queryPlanner: { namespace, winningPlan, rejectedPlans: [] },
    executionStats: {
      executionSuccess: true,
      nReturned: found.length,
      totalKeysExamined: counts.keysExamined,
      totalDocsExamined: counts.docsExamined,
      executionStages: winningPlan,
    },
  };
};

export const indexesOf = (plan: Plan | undefined): string[] => {
  if (plan === undefined || plan.kind === "collection") return [];
  return plan.kind === "or" ? plan.plans.flatMap((inner) => indexesOf(inner)) : [plan.index.definition.name];
};

export const hasCollectionScan = (plan: Plan | undefined): boolean =>
  plan?.kind === "collection" ||
  (plan?.kind === "or" && plan.plans.some((inner) => hasCollectionScan(inner)));
