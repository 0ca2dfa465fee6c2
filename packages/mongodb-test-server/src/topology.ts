import { Long, ObjectId } from "bson";
import type { Document } from "./bson-values/types.ts";

/** The single node of the replica set: primary, or for a while nothing but a secondary. */
export interface Topology {
  readonly setName: string;
  isPrimary(): boolean;
  stepDown(): void;
  /** A new election: drivers see a new election id. */
  stepUp(): void;
  /** A new state with the same role: drivers hear of it as of any other. */
  renew(): void;
  version(): number;
  topologyVersion(): Document;
  electionId(): ObjectId;
  /** Fulfilled with the next change of role. */
  changed(): Promise<void>;
}

export const createTopology = (setName: string): Topology => {
  const processId = new ObjectId();
  let counter = 1;
  let term = 1;
  let primary = true;
  let waiting: (() => void)[] = [];

  const renew = () => {
    counter++;
    for (const wake of waiting.splice(0)) wake();
  };
  const change = (toPrimary: boolean) => {
    if (primary === toPrimary) return;
    primary = toPrimary;
    if (toPrimary) term++;
    renew();
  };

  return {
    setName,
    isPrimary: () => primary,
    stepDown: () => {
      change(false);
    },
    stepUp: () => {
      change(true);
    },
    renew,
    version: () => counter,
    topologyVersion: () => ({ processId, counter: Long.fromNumber(counter) }),
    electionId: () => new ObjectId(`7fffffff${term.toString(16).padStart(16, "0")}`),
    changed: () =>
      new Promise((wake) => {
        waiting.push(wake);
      }),
  };
};
