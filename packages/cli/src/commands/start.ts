import type { AnyJobSequence } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { printable } from "../output/printable.ts";

export interface StartOptions {
  readonly input: unknown;
  readonly id?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly timeLimit?: number;
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
  readonly key?: string;
  readonly wait?: number | true;
}

const defaultWaitMs = 30_000;

export const start = async (
  context: CommandContext,
  typeName: string,
  options: StartOptions,
): Promise<ExitCode> =>
  context.withStore({ hints: true }, async ({ leasehold }) => {
    const { output } = context;
    const {
      input,
      id,
      queue,
      priority,
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
      maxAttempts,
      timeoutMs,
      schedule,
      deduplication: key === undefined ? undefined : { key },
    });
    if (wait === undefined) {
      if (output.json) output.printJson({ sequence: started, deduplicated: started.deduplicated });
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
    if (output.json) output.printJson({ sequence: ended, deduplicated: started.deduplicated });
    else output.print(printable(JSON.stringify(ended.output, null, 2) ?? ""));
    return exitCodes.done;
  });
