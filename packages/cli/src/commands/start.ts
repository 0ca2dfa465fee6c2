import type { AnyJobSequence } from "leasehold";
import type { FoundConfig } from "../config/load.ts";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { Output } from "../output/output.ts";
import { oneLine, printable, shorten } from "../output/text.ts";
import { configuredTypeNames, recentNames } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";
import type { CommandContext } from "./context.ts";

export interface StartOptions {
  readonly input: unknown;
  readonly id?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly group?: string;
  readonly maxAttempts?: number;
  readonly timeLimit?: number;
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
  readonly key?: string;
  readonly wait?: number | true;
}

const defaultWaitMs = 30_000;

const mostTypes = 8;

/** A name that was never used before is usually a typing mistake. */
const isUnknownType = async (
  leasehold: AnyLeasehold,
  typeName: string,
  found: FoundConfig | undefined,
): Promise<boolean> =>
  !configuredTypeNames(found?.config.jobTypes).includes(typeName) &&
  (await leasehold.jobs.list({ typeName, limit: 1 })).jobs.length === 0;

const warnOfNewType = async (output: Output, leasehold: AnyLeasehold, typeName: string): Promise<void> => {
  const others = (await recentNames(leasehold)).typeNames.filter((name) => name !== typeName);
  const named = others.slice(0, mostTypes).map((name) => shorten(oneLine(name), 40));
  const more = others.length > mostTypes ? ", …" : "";
  output.warn(
    `This is the first job of type ${oneLine(typeName)} here; it waits until a worker implements it.`,
    others.length === 0 ? undefined : `Jobs of late were of ${named.join(", ")}${more}.`,
  );
};

export const start = async (
  context: CommandContext,
  typeName: string,
  options: StartOptions,
): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }, found) => {
    const { output } = context;
    const isNewType = await isUnknownType(leasehold, typeName, found);
    const {
      input,
      id,
      queue,
      priority,
      group,
      maxAttempts,
      timeLimit: timeoutMs,
      at: schedule,
      key,
      wait,
    } = options;
    const started = await leasehold.startJobSequence({
      typeName,
      input: input ?? null,
      id,
      queue,
      priority,
      group,
      maxAttempts,
      timeoutMs,
      schedule,
      deduplication: key === undefined ? undefined : { key },
    });
    if (isNewType) await warnOfNewType(output, leasehold, typeName);
    if (wait === undefined) {
      if (output.json) output.printJson({ sequence: started, deduplicated: started.deduplicated, isNewType });
      else {
        output.print(started.id);
        if (started.deduplicated)
          output.note("A sequence with this key was there already; nothing was started.");
      }
      return exitCodes.done;
    }
    if (!output.json) output.note(`Started ${started.id}; waiting for it to end.`);
    const ended: AnyJobSequence & { status: "completed" } = await leasehold.waitForJobSequenceCompletion({
      id: started.id,
      typeName,
      timeoutMs: wait === true ? defaultWaitMs : wait,
    });
    if (output.json) output.printJson({ sequence: ended, deduplicated: started.deduplicated, isNewType });
    else output.print(printable(JSON.stringify(ended.output, null, 2) ?? ""));
    return exitCodes.done;
  });
