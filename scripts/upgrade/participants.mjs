import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("participant.mjs", import.meta.url));

/** The processes of a run, and what they have reported. */
export const openParticipants = ({ kind, address }) => {
  const reports = [];
  const running = new Set();

  const launch = (role, name, root) => {
    const child = fork(script, [JSON.stringify({ role, name, root, kind, address })]);
    const report = { name, acknowledged: [], errors: [], slowestStartMs: 0 };
    reports.push(report);
    running.add(child);
    child.on("message", ({ error, acknowledged, slowestStartMs }) => {
      if (error) report.errors.push(error);
      if (acknowledged) report.acknowledged.push(...acknowledged);
      if (slowestStartMs) report.slowestStartMs = Math.max(report.slowestStartMs, slowestStartMs);
    });
    child.once("exit", (code, signal) => {
      running.delete(child);
      if (code !== 0 && signal !== "SIGKILL") report.errors.push(`ended with ${signal ?? code}`);
    });
    return child;
  };

  const untilReady = (child) =>
    new Promise((resolve, reject) => {
      child.on("message", ({ ready }) => ready && resolve());
      child.once("exit", () => reject(new Error("A process ended before it was ready.")));
    });

  return {
    reports,
    /** A process that goes on until it is stopped. */
    start: async (role, name, root) => {
      const child = launch(role, name, root);
      await untilReady(child);
      return child;
    },
    /** A process that ends by itself. */
    run: async (role, name, root) => {
      await once(launch(role, name, root), "exit");
    },
    /** Kills a process in the middle of its work. Says whether it was still at it. */
    killWhen: async (role, name, root, condition) => {
      const child = launch(role, name, root);
      const ended = once(child, "exit");
      while (running.has(child) && !(await condition()))
        await new Promise((resolve) => setTimeout(resolve, 2));
      const wasRunning = running.has(child);
      child.kill("SIGKILL");
      await ended;
      return wasRunning;
    },
    /** Asks them to stop, and waits until they have. All that are left, unless some are named. */
    stop: async (children = [...running]) => {
      await Promise.all(
        children
          .filter((child) => running.has(child))
          .map(async (child) => {
            const ended = once(child, "exit");
            child.send("stop");
            await ended;
          }),
      );
    },
  };
};
