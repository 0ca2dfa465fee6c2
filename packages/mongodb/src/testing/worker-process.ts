import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface WorkerProcess {
  /** Resolves with the first message. */
  readonly ready: Promise<void>;
  /** Rejects when it ends with an error. */
  readonly exited: Promise<void>;
  /** Asks it to stop, and waits. */
  stop(): Promise<void>;
  kill(): void;
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let complaints = "";
    child.stderr?.on("data", (text) => {
      complaints += String(text);
    });
    child.once("exit", (code, signal) => {
      if (code === 0 || signal === "SIGKILL") resolve();
      else reject(new Error(`The process ended with ${code ?? signal}: ${complaints}`));
    });
  });

/** Runs a worker with the built package, as a process of a user would. */
export const forkWorker = (options: object, onExecuted: () => void): WorkerProcess => {
  const program = fileURLToPath(new URL("../../scripts/processes/work.mjs", import.meta.url));
  const child = fork(program, [JSON.stringify(options)], { silent: true, execArgv: [] });
  const exited = ended(child);
  exited.catch(() => undefined);
  const ready = new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    exited.then(() => reject(new Error("The process ended before it was ready.")), reject);
  });
  ready.catch(() => undefined);
  child.on("message", (message) => {
    if ((message as { readonly executed?: string }).executed !== undefined) onExecuted();
  });
  return {
    ready,
    exited,
    stop: () => {
      child.send("stop");
      return exited;
    },
    kill: () => void child.kill("SIGKILL"),
  };
};
