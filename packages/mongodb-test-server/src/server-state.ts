import type { Cursors } from "./cursors/cursors.ts";
import type { FailPoints } from "./faults/fail-points.ts";
import type { Faults } from "./faults/faults.ts";
import type { Execution, Shuffle } from "./planner/find-documents.ts";
import type { Catalog } from "./storage/catalog.ts";
import type { Store } from "./storage/store.ts";
import type { Topology } from "./topology.ts";
import type { Sessions } from "./transactions/sessions.ts";
import type { Transactions } from "./transactions/session.ts";

/** How a command looked for its documents. */
export interface ObservedPlan {
  readonly command: string;
  readonly namespace: string;
  /** Names of the indexes used; none is a collection scan. */
  readonly indexes: readonly string[];
  readonly isCollectionScan: boolean;
  readonly sortsInMemory: boolean;
  readonly keysExamined: number;
  readonly docsExamined: number;
  readonly returned: number;
}

/** Everything the commands share. */
export interface ServerState {
  readonly address: () => string;
  readonly now: () => number;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly transactions: Transactions;
  readonly sessions: Sessions;
  readonly cursors: Cursors;
  readonly topology: Topology;
  readonly failPoints: FailPoints;
  readonly faults: Faults;
  readonly shuffle: Shuffle | undefined;
  readonly transactionLifetimeMs: () => number;
  readonly enforcesMaxTime: boolean;
  readonly planned: (command: string, namespace: string, execution: Execution) => void;
  readonly stepDown: (ms: number | undefined) => void;
}
