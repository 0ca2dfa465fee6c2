import { UnrecoverableJobError } from "../store/errors.ts";
import { rescheduleJob } from "../worker/outcome.ts";
import type { SimulationFault } from "./faults.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import type { SimulatedProcess } from "./workload.ts";

/** What a handler does in one attempt, after `ms` of work. */
export interface Behaviour {
  readonly kind:
    | "return"
    | "transaction"
    | "staged"
    | "atomic"
    | "reschedule"
    | "throw"
    | "give_up"
    | "poison"
    | "block"
    | "never"
    | "ignore_signal";
  readonly ms: number;
}

const faultOf: Partial<Record<Behaviour["kind"], SimulationFault>> = {
  throw: "failing_handlers",
  give_up: "failing_handlers",
  poison: "poison",
  block: "blocking_handlers",
  never: "stuck_handlers",
  ignore_signal: "stuck_handlers",
};

const kinds = Object.keys(faultOf) as Behaviour["kind"][];
const wellBehaved = ["return", "return", "return", "transaction", "staged", "atomic", "reschedule"] as const;

/** Once everything is calm, these would only keep it from draining. */
const endsWithCalm: ReadonlySet<Behaviour["kind"]> = new Set([
  "reschedule",
  "block",
  "never",
  "ignore_signal",
]);

/** Whether jobs with this script need a timeout to end at all. */
export const needsTimeout = (script: readonly Behaviour[]): boolean =>
  script.some(({ kind }) => kind === "never" || kind === "ignore_signal");

export const drawBehaviours = (
  random: SeededRandom,
  strengthOf: (kind: SimulationFault) => number,
  leaseMs: number,
): Behaviour[] => {
  const draw = (): Behaviour => {
    const ms = Math.ceil(random.next() ** 3 * leaseMs * 1.5);
    const bad = kinds.filter((kind) => random.chance(strengthOf(faultOf[kind]!) * 0.15));
    return { kind: bad.length > 0 ? random.pick(bad) : random.pick(wellBehaved), ms };
  };
  const script = Array.from({ length: random.integer(1, 3) }, draw);
  // Poison does not wear off.
  const poisonedFrom = script.findIndex(({ kind }) => kind === "poison");
  return poisonedFrom < 0 ? script : script.slice(0, poisonedFrom + 1);
};

export interface ScriptedJob {
  readonly id: string;
  readonly attempt: number;
  readonly timeoutMs: number | null;
  readonly input: { readonly script: readonly Behaviour[]; readonly hops: number };
}

interface Attempt {
  readonly job: ScriptedJob;
  readonly signal: AbortSignal;
  readonly prepare: (options: object, callback?: () => Promise<void>) => Promise<unknown>;
  readonly complete: (callback: (tools: CompletionTools) => Promise<unknown>) => Promise<unknown>;
  readonly reportProgress: (value: unknown) => Promise<void>;
}

interface CompletionTools {
  readonly continueWith: (options: object) => Promise<unknown>;
}

const oddities = (): unknown[] => {
  const cyclic = new Error("cyclic");
  cyclic.cause = cyclic;
  return [
    new Error("plain"),
    null,
    undefined,
    "text \0 \ud800",
    cyclic,
    Object.freeze({ toString: null }),
    17n,
  ];
};

const never = (): Promise<never> => new Promise(() => undefined);

/** What a job does in this attempt. */
export const behaviourOf = (
  process: SimulatedProcess,
  { attempt, input: { script } }: ScriptedJob,
): Behaviour => {
  const { kind, ms } = script[Math.min(attempt, script.length) - 1]!;
  return { kind: process.isCalm && endsWithCalm.has(kind) ? "return" : kind, ms };
};

/** Runs one attempt by its script. `next` is the type that continues the sequence while there are hops left. */
export const behave = async (
  process: SimulatedProcess,
  attempt: Attempt,
  next: string | undefined,
): Promise<unknown> => {
  const { job, signal } = attempt;
  const { script, hops } = job.input;
  const { kind, ms } = behaviourOf(process, job);
  const continues = next !== undefined && hops > 0;
  // `prepare` has to be read before the first await.
  const prepare = kind === "staged" || kind === "atomic" ? attempt.prepare : undefined;
  const finish = (): Promise<unknown> =>
    attempt.complete(async ({ continueWith }) =>
      continues
        ? continueWith({
            typeName: next,
            input: { script, hops: hops - 1 },
            timeoutMs: job.timeoutMs ?? undefined,
          })
        : "done in a transaction",
    );
  const work = async (): Promise<void> => {
    await process.sleep(ms, signal);
    signal.throwIfAborted();
  };

  switch (kind) {
    case "never":
      return never();
    case "poison":
      // Some only after a while in which others have come to sit beside them. Not after their timeout: what a handler does that was
      // given up on cannot be told from what the suspect does that runs alone by then.
      if (ms % 2 === 1) await work();
      process.crash();
      return never();
    case "block":
      process.block(ms * 2);
      break;
    case "ignore_signal":
      await process.sleep(ms * 3);
      return "too late, perhaps";
    case "staged":
      await prepare!({ mode: "staged" }, () => process.sleep(1));
      await work();
      return finish();
    case "atomic":
      await prepare!({ mode: "atomic" });
      // The transaction is open all the while, and with it the whole store; so not for long.
      await process.sleep(Math.min(ms, 20), signal);
      return finish();
    default:
      await work();
  }
  if (kind === "reschedule") rescheduleJob({ afterMs: ms + 300 });
  // oxlint-disable-next-line typescript/only-throw-error -- anything can be thrown
  if (kind === "throw") throw oddities()[ms % 7];
  if (kind === "give_up") throw new UnrecoverableJobError("no use");
  if (kind === "transaction" || continues) return finish();
  if (ms % 3 === 0) await attempt.reportProgress({ ms });
  return "done";
};
