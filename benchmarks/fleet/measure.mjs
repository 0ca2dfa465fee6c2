// One fleet with one notify adapter, from its start to its end.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { now, openProcess } from "./open.mjs";

const workerProgram = fileURLToPath(new URL("worker.mjs", import.meta.url));
// Starting a process takes most of a core for a moment.
const startedAtOnce = 5;
const sampleMs = 200;

const percentile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
};

/** Handlers that begin, whoever waits for one, and those that began twice. */
const createBeginnings = () => {
  const moments = new Map();
  const waiters = new Map();
  let repeated = 0;
  return {
    add: ({ n, at }) => {
      if (moments.has(n)) repeated += 1;
      moments.set(n, at);
      waiters.get(n)?.();
      waiters.delete(n);
    },
    of: (n) => (moments.has(n) ? Promise.resolve() : new Promise((resolve) => void waiters.set(n, resolve))),
    moment: (n) => moments.get(n),
    get repeated() {
      return repeated;
    },
  };
};

const startProcess = async (options, beginnings) => {
  const child = fork(workerProgram, [JSON.stringify(options)]);
  const replies = [];
  let ready;
  const started = new Promise((resolve, reject) => {
    ready = resolve;
    child.once("exit", (code) => reject(new Error(`A worker process ended with ${code}.`)));
  });
  child.on("message", (message) => {
    if (message.began) beginnings.add(message.began);
    if (message.ready) ready();
    if (message.counts) replies.shift()?.(message.counts);
  });
  await started;
  return {
    typeName: options.typeName,
    counts: () =>
      new Promise((resolve) => {
        replies.push(resolve);
        child.send("counts");
      }),
    stop: async () => {
      const ended = once(child, "exit");
      child.send("stop");
      await ended;
    },
    kill: () => child.kill("SIGKILL"),
  };
};

const startFleet = async (options, processes, busy, beginnings) => {
  const fleet = [];
  while (fleet.length < processes) {
    const size = Math.min(startedAtOnce, processes - fleet.length);
    const started = Array.from({ length: size }, (_, place) => {
      const typeName = fleet.length + place < busy ? "busy" : "single";
      return startProcess({ ...options, typeName, migrate: false, poolSize: 3 }, beginnings);
    });
    fleet.push(...(await Promise.all(started)));
  }
  return fleet;
};

/** How many connections of the server are used at most while it watches. */
const watchConnections = (servers) => {
  const most = { pooled: 0, listening: 0 };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const { pooled, listening } = await servers.countConnections();
      most.pooled = Math.max(most.pooled, pooled);
      most.listening = Math.max(most.listening, listening);
      await sleep(sampleMs);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
};

/** What the whole fleet did between two readings. */
const difference = (before, after) => {
  const statements = [...after.statements.values()]
    .map(({ query, calls, ms, plan_ms }) => {
      const earlier = before.statements.get(query) ?? { calls: 0, ms: 0, plan_ms: 0 };
      return {
        query,
        calls: calls - earlier.calls,
        ms: ms - earlier.ms,
        planMs: plan_ms - earlier.plan_ms,
      };
    })
    .filter(({ calls }) => calls > 0);
  return {
    seconds: (after.at - before.at) / 1_000,
    statements: statements.sort((a, b) => b.ms - a.ms),
    calls: statements.reduce((sum, { calls }) => sum + calls, 0),
    serverCpu: after.serverCpu - before.serverCpu,
    poolerCpu: after.poolerCpu - before.poolerCpu,
    waitedMs: after.waitedMs - before.waitedMs,
    claims: after.claims - before.claims,
    woken: after.woken - before.woken,
    sent: after.sent - before.sent,
  };
};

/**
 * @param {object} options
 * @param {Awaited<ReturnType<typeof import("./servers.mjs").startFleetServers>>} options.servers
 * @param {string} options.notify the notify adapter
 * @param {number} options.processes in all
 * @param {number} options.busy how many of them serve the busy job type
 * @param {number} options.rate jobs a second of the busy type
 * @param {number} options.seconds how long the fleet idles; it is busy half as long
 * @param {number} options.starts how many single jobs are started while nothing else happens
 */
export const measureFleet = async ({ servers, notify, processes, busy, rate, seconds, starts }) => {
  const schema = `fleet_${notify}_${processes}`;
  const options = { ...servers.urls, notify, schema };
  const beginnings = createBeginnings();
  const producer = await openProcess({ ...options, migrate: true, poolSize: 5 });
  const fleet = await startFleet(options, processes, busy, beginnings);
  const endWatch = watchConnections(servers);

  const read = async () => {
    const ofFleet = await Promise.all(fleet.map((worker) => worker.counts()));
    const all = [producer.counts, ...ofFleet];
    const ofSingles = ofFleet.filter((_, i) => fleet[i].typeName === "single");
    const sum = (counts, name) => counts.reduce((total, each) => total + each[name], 0);
    return {
      ...(await servers.read()),
      claims: sum(ofSingles, "claims"),
      woken: sum(ofSingles, "woken"),
      sent: sum(all, "sent"),
      errors: all.flatMap(({ errors }) => Object.entries(errors)),
    };
  };
  const during = async (work) => {
    const before = await read();
    const found = await work();
    return { ...difference(before, await read()), ...found };
  };

  let started = 0;
  const start = async (typeName) => {
    const n = (started += 1);
    const at = now();
    await producer.leasehold.startJobSequence({ typeName, input: { n } });
    await beginnings.of(n);
    return beginnings.moment(n) - at;
  };
  // Pauses of random length, so that starts meet the polls of the workers at any of their moments.
  const startSingles = async (goesOn) => {
    const latencies = [];
    while (goesOn(latencies.length)) {
      latencies.push(await start("single"));
      await sleep(10 + Math.random() * 50);
    }
    return latencies;
  };
  const startBusily = async (until) => {
    const jobs = [];
    const begin = now();
    while (now() < until) {
      const due = Math.floor(((now() - begin) / 1_000) * rate);
      while (jobs.length < due) jobs.push(start("busy"));
      await sleep(5);
    }
    return Promise.all(jobs);
  };

  try {
    // What every process does when it begins is over by then.
    await startSingles((n) => n < starts / 10);
    await sleep(seconds * 50);
    const idle = await during(() => sleep(seconds * 1_000));
    const single = await during(async () => ({ latencies: await startSingles((n) => n < starts) }));
    const load = await during(async () => {
      const until = now() + seconds * 500;
      const [latencies, busyLatencies] = await Promise.all([
        startSingles(() => now() < until),
        startBusily(until),
      ]);
      return { latencies, busyLatencies };
    });
    const { errors } = await read();
    const connections = await endWatch();
    await Promise.all(fleet.map((worker) => worker.stop()));
    const { rows } = await servers.query(
      `SELECT count(*)::int AS completed FROM ${schema}.job WHERE status = 'completed'`,
    );
    const times = (latencies) => ({ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });
    return {
      notify,
      processes,
      phases: { idle, single, load },
      idleStatementsPerWorker: idle.calls / idle.seconds / processes,
      notificationsPerStart: single.sent / starts,
      wakesPerStart: single.woken / starts,
      claimsPerStart: single.claims / starts,
      claimsPerStartUnderLoad: load.claims / load.latencies.length,
      statementsPerStart: (single.calls - (idle.calls / idle.seconds) * single.seconds) / starts,
      serverMsPerStart:
        ((single.serverCpu - (idle.serverCpu / idle.seconds) * single.seconds) / starts) * 1_000,
      timeToStart: times(single.latencies),
      timeToStartUnderLoad: times(load.latencies),
      timeToStartOfBusy: times(load.busyLatencies),
      busyRate: load.busyLatencies.length / load.seconds,
      serverCpuIdle: idle.serverCpu / idle.seconds,
      serverCpuUnderLoad: load.serverCpu / load.seconds,
      waitMsPerStatement: load.waitedMs / load.calls,
      connections,
      lost: started - rows[0].completed,
      repeated: beginnings.repeated,
      errors,
    };
  } finally {
    await endWatch();
    for (const worker of fleet) worker.kill();
    await producer.close();
  }
};
