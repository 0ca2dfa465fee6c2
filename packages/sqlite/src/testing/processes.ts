import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A message from a process; it has some of the properties. */
export interface ProcessMessage {
  readonly started?: string[];
  readonly completed?: string;
  readonly error?: string;
  /** How many attempts. */
  readonly failed?: number;
  /** How often buckets were rolled up, and how often not because another process had done so. */
  readonly rolledUp?: number;
  readonly refused?: number;
}

export interface TestProcess {
  /** Resolves with the first message. */
  readonly ready: Promise<void>;
  /** Rejects when it ends with an error. */
  readonly exited: Promise<void>;
  /** Starts a process that has reported that it is ready. */
  begin(): void;
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

/** Runs a script with the built package, as the processes of a user would. */
export const forkProcess = (
  name: "work" | "produce" | "retry" | "roll-up",
  options: object,
  onMessage: (message: ProcessMessage) => void,
): TestProcess => {
  const program = fileURLToPath(new URL(`../../scripts/processes/${name}.mjs`, import.meta.url));
  const child = fork(program, [JSON.stringify(options)], { silent: true, execArgv: [] });
  const exited = ended(child);
  exited.catch(() => undefined);
  const ready = new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    exited.then(() => reject(new Error("The process ended before it was ready.")), reject);
  });
  ready.catch(() => undefined);
  child.on("message", (message) => onMessage(message as ProcessMessage));
  return {
    ready,
    exited,
    begin: () => void child.send("begin"),
    stop: () => {
      child.send("stop");
      return exited;
    },
    kill: () => void child.kill("SIGKILL"),
  };
};
