import { randomUUID } from "node:crypto";
import type { NewJob } from "../store/contract/creation.ts";
import type { AnyStateAdapter, PartName } from "../store/contract/state-adapter.ts";
import { immediately } from "../store/rules/transitions.ts";

export interface StateAdapterUnderTest {
  readonly adapter: AnyStateAdapter;
  /** Closes the adapter and removes what `create` made. */
  destroy(): Promise<void>;
}

/** All that a store's own test file has to provide. */
export interface StateAdapterFixture {
  /** An adapter over an empty store of its own. */
  create(): Promise<StateAdapterUnderTest>;
  /** The optional parts of the contract that the adapter does not offer, each with the reason. */
  readonly without?: Readonly<Partial<Record<PartName, string>>> | undefined;
  /**
   * The optional parts that the adapter offers and that need not be tested again, each with the reason: for one more way to
   * reach a store whose statements another fixture tests.
   */
  readonly testedElsewhere?: Readonly<Partial<Record<PartName, string>>> | undefined;
}

/** The `now` of every test that does not say otherwise: far from the real one, so that a store's own clock shows. */
export const baseTime: number = Date.UTC(2040, 0, 1);

/** The first and only job of a sequence that is its own root. */
export const newJob = (overrides: Partial<NewJob> & Pick<NewJob, "queue" | "typeName">): NewJob => {
  const id = overrides.id ?? randomUUID();
  return {
    id,
    sequenceId: id,
    sequenceTypeName: overrides.typeName,
    sequenceIndex: 0,
    sequenceCreatedAt: null,
    rootSequenceId: id,
    originId: null,
    traceContext: null,
    priority: 0,
    input: "{}",
    schedule: immediately,
    maxAttempts: 4,
    timeoutMs: null,
    leaseMs: null,
    onBlockerFailure: "fail",
    group: null,
    ordered: null,
    awaitsBlockers: false,
    deduplication: null,
    ...overrides,
  };
};
