import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface ServerProcess {
  readonly pid: number;
  /** The last of what it printed, for the message of a test that fails. */
  output(): string;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ServerProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly user?: ServerUser | undefined;
  /** What it prints when it is ready, where accepting connections does not mean that. */
  readonly readyMessage?: RegExp;
  /** How long it may take until it accepts connections. */
  readonly startTimeoutMs?: number;
}

/** Servers that refuse to run as root run as this. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

const nobody: ServerUser = { uid: 65_534, gid: 65_534 };

export const unprivilegedUser = (): ServerUser | undefined => (process.getuid?.() === 0 ? nobody : undefined);

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

const running = new Set<ChildProcess>();
// Whatever ends this process ends the servers it started.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a server and waits until its port accepts connections. */
export const startServerProcess = async (options: ServerProcessOptions): Promise<ServerProcess> => {
  const { command, args, port, cwd, env, user, readyMessage, startTimeoutMs = 30_000 } = options;
  const child = spawn(command, [...args], {
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    ...user,
  });
  running.add(child);
  // A server never keeps its process alive: a run whose set-up has failed ends at once, and ends its servers.
  child.unref();
  for (const stream of [child.stdout, child.stderr] as Partial<Socket>[]) stream.unref?.();
  let output = "";
  const collect = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-10_000);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  let ended = false;
  const end = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      output += error.message;
      resolve();
    });
    child.once("exit", () => resolve());
  }).then(() => {
    ended = true;
    running.delete(child);
  });

  const deadline = Date.now() + startTimeoutMs;
  const isReady = async (): Promise<boolean> =>
    (readyMessage === undefined || readyMessage.test(output)) && (await accepts(port));
  while (!(await isReady())) {
    if (ended) throw new Error(`${command} ended before it accepted connections:\n${output}`);
    if (Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${command} accepts no connections after ${startTimeoutMs} ms:\n${output}`);
    }
    await sleep(20);
  }
  return {
    pid: child.pid!,
    output: () => output,
    end: async (signal) => {
      child.ref();
      if (!ended) child.kill(signal);
      await end;
    },
  };
};
