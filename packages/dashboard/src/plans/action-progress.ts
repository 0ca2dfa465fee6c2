import type { ActionLog, ActionEntry } from "../server/action-log.ts";

/** How far an action has come. It is written to the log after each portion, so that another process can go on from there. */
export interface ActionProgress {
  readonly state: "running" | "stopping" | "done" | "stopped" | "failed";
  readonly changed: number;
  readonly revived: number;
  readonly skipped: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly cursor: string | null;
  readonly error: string | null;
  /** Who began it, or went on with it. */
  readonly by: string;
  /** Which run of the action this is: of the process that has it, and nobody else. */
  readonly run: string;
  /** Grows while its process lives, so that a result that is written again is not the one before. */
  readonly beat: number;
}

export const notBegun: ActionProgress = {
  state: "running",
  changed: 0,
  revived: 0,
  skipped: 0,
  reasons: {},
  cursor: null,
  error: null,
  by: "",
  run: "",
  beat: 0,
};

/** How often a process says in the log that it still has an action. */
const heartbeatMs = 5_000;

/** Whoever has said nothing for so long is taken for dead, and others may go on with its action. */
const mostSilentMs = 30_000;

/** Whether a process may still be at work on it. */
export const isUnderWay = ({ result, startedAt, changedAt }: ActionEntry, now: number): boolean => {
  const state = (result as ActionProgress | null)?.state ?? "running";
  const isOver = state !== "running" && state !== "stopping";
  return !isOver && now - Date.parse(changedAt ?? startedAt) < mostSilentMs;
};

export interface ProgressLog {
  readonly progress: ActionProgress;
  write(next: ActionProgress): Promise<void>;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

/**
 * Writes how far an action has come, one writing after the other. Each replaces the one before, and nothing else: if there is
 * something else, another process has asked to stop, or has taken the action over. `stop` is aborted then.
 */
export const createProgressLog = (
  actions: ActionLog,
  id: string,
  claimed: ActionProgress,
  stop: AbortController,
): ProgressLog => {
  let progress = claimed;
  let written = claimed;
  let isOurs = true;
  let last: Promise<void> = Promise.resolve();

  const replace = async (): Promise<void> => {
    if (!isOurs) return;
    const next = { ...progress, beat: written.beat + 1 };
    if (await actions.replace(id, written, next)) {
      written = next;
      return;
    }
    stop.abort();
    const found = (await actions.get(id))?.result as ActionProgress | null | undefined;
    isOurs = found?.run === claimed.run;
    if (!isOurs || found == null) return;
    // Only a request to stop changes what belongs to a run, and it changes nothing but the state.
    written = found;
    await replace();
  };

  const write = (): Promise<void> => {
    last = last.catch(() => undefined).then(replace);
    return last;
  };

  const heartbeat = setInterval(() => void write().catch(() => undefined), heartbeatMs);
  heartbeat.unref();
  return {
    get progress() {
      return progress;
    },
    write: (next) => {
      progress = next;
      return write();
    },
    close: async () => {
      clearInterval(heartbeat);
      await last.catch(() => undefined);
    },
  };
};
