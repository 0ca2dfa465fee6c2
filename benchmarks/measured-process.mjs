// A fresh process for each measurement, under the Node.js that all systems share.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nodeProgram } from "./settings.mjs";

const program = fileURLToPath(new URL("measured.mjs", import.meta.url));

/**
 * Starts a task of tasks.mjs. The process says "ready", does its work at `go`, and answers with what it measured.
 * @param {string} task
 * @param {{ system: string, timeoutSeconds: number }} options and what the task needs
 */
export const startMeasuredProcess = (task, options) => {
  const child = fork(program, [task, JSON.stringify(options)], {
    execPath: nodeProgram,
    execArgv: ["--no-warnings"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  /** @type {Map<string, unknown>} */
  const arrived = new Map();
  const waiting = new Map();
  let ended;
  child.on("message", ({ name, data }) => {
    const wait = waiting.get(name);
    if (wait) wait.resolve(data);
    else arrived.set(name, data);
  });
  const exit = new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      ended = new Error(`${task} of ${options.system} ended early (${signal ?? code}).`);
      for (const { reject } of waiting.values()) reject(ended);
      resolve();
    });
  });

  const answer = (name) =>
    new Promise((resolve, reject) => {
      if (arrived.has(name)) return resolve(arrived.get(name));
      if (ended) return reject(ended);
      const timer = setTimeout(
        () => reject(new Error(`${task} of ${options.system} took longer than ${options.timeoutSeconds} s.`)),
        options.timeoutSeconds * 1_000,
      );
      const settle = (end) => (value) => {
        clearTimeout(timer);
        waiting.delete(name);
        end(value);
      };
      waiting.set(name, { resolve: settle(resolve), reject: settle(reject) });
    });

  return {
    ready: () => answer("ready"),
    go: () => child.send("go"),
    answer,
    /** Nothing is stopped politely: the database goes next. */
    end: async () => {
      child.kill("SIGKILL");
      await exit;
    },
  };
};

/** Runs a task that needs no clock from beginning to end. */
export const runToEnd = async (task, options) => {
  const child = startMeasuredProcess(task, options);
  try {
    await child.ready();
    child.go();
    return await child.answer("done");
  } finally {
    await child.end();
  }
};
