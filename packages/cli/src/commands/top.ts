import { StoreCallTimeoutError } from "leasehold";
import { setTimeout as sleep } from "node:timers/promises";
import { createLiveView } from "../live/live-view.ts";
import { createSampler } from "../live/sampler.ts";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { OpenedStore } from "../store/store.ts";
import type { CommandContext } from "./context.ts";

export interface TopOptions {
  readonly queue?: readonly string[];
  readonly interval: number;
  readonly count?: number;
}

const patienceMs = 60_000;
// Looking is work for the store: no more often than it costs little.
const largestShare = 0.2;

/** Resolves when the user ends it: Ctrl-C, SIGTERM, or the key q. */
const untilStopped = (stopped: AbortController): (() => void) => {
  const stop = (): void => stopped.abort();
  const onKey = (key: Buffer): void => {
    if (["q", "Q", "\u0003", "\u001b"].includes(key.toString())) stop();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  const { stdin } = process;
  const readsKeys = stdin.isTTY && process.stdout.isTTY;
  if (readsKeys) stdin.setRawMode(true).on("data", onKey).resume();
  return () => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    if (readsKeys) stdin.off("data", onKey).setRawMode(false).pause();
  };
};

const showJson = (context: CommandContext, { stateAdapter, leasehold }: OpenedStore, options: TopOptions) => {
  const sample = createSampler({ stateAdapter, leasehold, queue: options.queue });
  return { update: async () => context.output.printJson(await sample()), end: () => {} };
};

export const top = async (context: CommandContext, options: TopOptions): Promise<ExitCode> =>
  context.withStore({}, async (store) => {
    const { json, colours } = context.output;
    const footer = [colours.dim("q quits")];
    const view = json
      ? showJson(context, store, options)
      : await createLiveView({
          stateAdapter: store.stateAdapter,
          leasehold: store.leasehold,
          queue: options.queue,
          title: `leasehold top  ${store.label}`,
        });
    let failingSince: number | undefined;
    // A server that restarts is no reason to end.
    const look = async (): Promise<void> => {
      try {
        await view.update(footer);
        failingSince = undefined;
      } catch (error) {
        const isTransient =
          store.stateAdapter.isTransientError(error) || error instanceof StoreCallTimeoutError;
        failingSince ??= performance.now();
        if (!isTransient || performance.now() - failingSince > patienceMs) throw error;
      }
    };
    const stopped = new AbortController();
    const removeListeners = untilStopped(stopped);
    try {
      for (let round = 1; !stopped.signal.aborted; round += 1) {
        const began = performance.now();
        await look();
        if (round === options.count) break;
        const pauseMs = Math.max(options.interval, (performance.now() - began) / largestShare);
        await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => {});
      }
    } finally {
      removeListeners();
      view.end();
    }
    return exitCodes.done;
  });
