// The processes that produce and work, and what they say was acknowledged.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("process.mjs", import.meta.url));

export const createFleet = (common) => {
  const members = [];
  const children = new Map();
  const started = new Map();
  const completions = [];
  const counts = {};
  const failures = new Map();
  const deaths = [];
  let isStopping = false;

  const hear = (worker, { event, id, attempt, at }) => {
    if (event === "started") started.set(id, { kind: attempt, at });
    else if (event === "completed") completions.push({ worker, id, attempt, at });
    else if (event.startsWith("failed: ")) failures.set(event, (failures.get(event) ?? 0) + 1);
    if (!event.startsWith("failed: ")) counts[event] = (counts[event] ?? 0) + 1;
  };

  const launch = async (member) => {
    const child = fork(script, [JSON.stringify({ ...common, ...member })], {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr = (stderr + chunk).slice(-4_000)));
    child.on("message", (message) => {
      if (message.news) for (const item of message.news) hear(member.name, item);
    });
    child.once("exit", (code, signal) => {
      if (isStopping && code === 0) return;
      deaths.push({ name: member.name, code, signal, at: Date.now(), stderr });
      // The story goes on, but it has failed.
      if (!isStopping) void launch(member);
    });
    children.set(member, child);
    await Promise.race([once(child, "message"), once(child, "exit")]);
  };

  const stop = async (role) => {
    isStopping = true;
    const ended = members
      .filter((member) => member.role === role)
      .map((member) => children.get(member))
      .filter((child) => child.exitCode === null && child.signalCode === null)
      .map((child) => {
        const exit = once(child, "exit");
        if (child.connected) child.send("stop");
        return exit;
      });
    await Promise.all(ended);
  };

  const killAll = () => {
    isStopping = true;
    for (const child of children.values()) child.kill("SIGKILL");
  };
  process.once("exit", killAll);

  return {
    started,
    completions,
    counts,
    failures,
    deaths,
    launchAll: async (list) => {
      members.push(...list);
      await Promise.all(members.map(launch));
    },
    stop,
    killAll,
  };
};
