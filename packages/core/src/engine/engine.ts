import type { AsyncScope } from "../async-scope.ts";
import type { Runtime } from "../clock.ts";
import type { Codec } from "../model/codec.ts";
import type { ResolvedDefaults } from "../model/defaults.ts";
import type { JobTypeRegistry } from "./job-type-registry.ts";
import type { StateStore } from "./dispatch.ts";
import type { AfterCommit } from "./after-commit.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Listening } from "./listening.ts";
import type { Notifier } from "./notifier.ts";
import type { Observe } from "./observe.ts";
import type { Reporter } from "./reporter/reporter.ts";
import type { Tally } from "./reporter/tally.ts";
import type { Retention } from "./retention.ts";
import type { Tracer } from "./trace.ts";

/** What a call inherits from the callback it is made in. */
export interface Scope {
  /** The job whose handler or callback runs: what it starts belongs to its tree. */
  readonly origin?: { readonly jobId: string; readonly rootSequenceId: string };
  /** Collects notifications and events until the transaction has committed. */
  readonly afterCommit?: AfterCommit;
  /** The types of the sequences that were started or found here, by id. */
  readonly startedTypes?: Map<string, string>;
  /** The transaction that calls without a context of their own belong to. */
  readonly transaction?: object;
}

/** What every use case needs. It knows nothing of the types of jobs: `leasehold.ts` adds those. */
export interface Engine {
  readonly store: StateStore;
  readonly notifier: Notifier;
  readonly listening: Listening;
  readonly lifecycle: Lifecycle;
  readonly observe: Observe;
  readonly reporter: Reporter;
  /** That of the reporter. */
  readonly tally: Tally;
  /** Undefined where nobody traces. */
  readonly tracer: Tracer | undefined;
  readonly runtime: Runtime;
  readonly codec: Codec;
  readonly maxPayloadBytes: number;
  readonly jobTypes: JobTypeRegistry;
  readonly retention: Retention;
  readonly defaults: ResolvedDefaults;
  readonly createId: () => string;
  /** The version of the program that this is part of, as its users call it; null if they have not said. */
  readonly deployment: string | null;
  readonly scope: AsyncScope<Scope>;
}

/** Runs `callback` with additions to the scope it is already in. */
export const runInScope = <T>(engine: Engine, additions: Scope, callback: () => T): T =>
  engine.scope.run({ ...engine.scope.getStore(), ...additions }, callback);
