// One cluster, one load, one fault after another.
import { setTimeout as sleep } from "node:timers/promises";
import { startPatroniCluster, startPgBouncer } from "@leasehold/test-servers";
import pg from "pg";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../dist/index.js";
import { describeLoss, keepDiary } from "./diary.mjs";
import { chooseFaults, createRandom, faults } from "./faults.mjs";
import { createFleet } from "./fleet.mjs";
import { settle, takesWrites } from "./recovery.mjs";
import { countUnfinished, findDamages, findDoubled, findLosses } from "./judge.mjs";
import { firstCompletions, inSeconds, longestGap, medianLatencies, rateBackAfter } from "./measure.mjs";

const leaseMs = 10_000;
const steadyMs = 4_000;
const patienceMs = 180_000;
const longestRecoverySeconds = 30;
const unreplicatedMs = 1_000;
// A standby on a busy machine may be so far behind when replication is cut.
const longestLagMs = 1_000;
// Far less than the poll interval: so notifications arrive.
const longestLatencyMs = 5_000;

const setUp = async (pool) => {
  const adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  await adapter.close();
  await pool.query("CREATE TABLE effect (job_id uuid NOT NULL, attempt int NOT NULL)");
  await pool.query("CREATE TABLE orders (job_id uuid NOT NULL)");
  await pool.query("CREATE TABLE probe (at timestamptz NOT NULL)");
};

/**
 * Losses in asynchronous mode that PostgreSQL does not explain: it may lose what was acknowledged after replication was cut, and
 * nothing else.
 */
const findUnexplained = (rounds, lost) => {
  const earliest = inSeconds(-unreplicatedMs - longestLagMs);
  const sum = (kind) => rounds.reduce((total, round) => total + round.lost[kind], 0);
  const problems = rounds
    .filter(({ fault, lostFrom }) => lostFrom !== undefined && !(faults[fault].loses && lostFrom >= earliest))
    .map(({ fault, lostFrom }) => `${fault} lost what was acknowledged ${lostFrom} s after it`);
  if (lost.starts !== sum("starts"))
    problems.push("starts were lost in another round than they were made in");
  // A job whose lost outcome the same worker has written again counts as lost only in its round.
  if (lost.outcomes > sum("outcomes"))
    problems.push("outcomes were lost in another round than they were written in");
  return problems;
};

const describeMembers = (workers, jobsPerSecond) => {
  const route = (name) => {
    const [driver, way] = name.split("-");
    return { driver, route: way, connections: 14 };
  };
  return [
    ...workers.map((name) => ({ role: "worker", name, queue: name, ...route(name) })),
    ...["pg-haproxy", "pg-hosts"].map((name) => ({
      role: "producer",
      name: `producer-${name}`,
      queues: workers,
      jobsPerSecond: jobsPerSecond / 2,
      ...route(name),
    })),
  ];
};

export const runStory = async ({ isSynchronous, count, seed, jobsPerSecond, only, workers, print }) => {
  const mode = isSynchronous ? "synchronous" : "asynchronous";
  const random = createRandom(seed);
  const chosen = chooseFaults(only ?? Object.keys(faults), count, random);
  print(`${mode} mode, seed ${seed}: ${chosen.join(", ")}`);

  const cluster = await startPatroniCluster({ isSynchronous });
  const pgBouncer = await startPgBouncer({ port: cluster.port });
  const pool = new pg.Pool({
    host: "127.0.0.1",
    port: cluster.port,
    user: cluster.user,
    database: "postgres",
    max: 2,
    connectionTimeoutMillis: 3_000,
  });
  pool.on("error", () => {});
  const ask = async (sql, params = []) => (await pool.query(sql, params)).rows;

  const ports = {
    haproxy: cluster.port,
    pgbouncer: pgBouncer.port,
    nodes: cluster.nodes.map(({ port }) => port),
  };
  const diary = keepDiary(cluster);
  const fleet = createFleet({ ports, user: cluster.user, leaseMs });
  const { completions, started } = fleet;

  const isDone = async (condition) => {
    const deadline = Date.now() + patienceMs;
    while (!(await condition().catch(() => false))) {
      if (Date.now() > deadline) return false;
      await sleep(500);
    }
    return true;
  };

  /** All workers have completed something since the moment, or time is up. */
  const workersAreBack = (moment) =>
    isDone(async () => {
      const first = firstCompletions(completions, workers, moment);
      return Object.values(first).every((value) => value !== null);
    });

  const strike = async (name) => {
    const fault = faults[name];
    const leader = await cluster.newLeader();
    const scene = { cluster, leader, random };
    if (fault.loses && !isSynchronous) {
      leader.cutReplication();
      await sleep(unreplicatedMs);
    }
    const at = Date.now();
    await fault.strike(scene);
    const next = await cluster.newLeader(fault.replaces ? leader : undefined);
    const leaderAt = name === "reinit" ? at : Date.now();
    const taken = await takesWrites(cluster);
    const writableAt = name === "reinit" ? at : taken.at;
    print(
      `  ${next.name} leads after ${inSeconds(leaderAt - at)} s, takes writes after ${inSeconds(writableAt - at)} s`,
    );
    await sleep(steadyMs);
    await fault.mend?.(scene);
    leader.rejoin();
    return { at, leaderAt, writableAt, timeline: taken.timeline };
  };

  const runRound = async (name, index) => {
    print(`${index + 1}/${chosen.length} ${name}`);
    const before = { completions: completions.length, started: started.size };
    const { at, leaderAt, writableAt, timeline } = await strike(name);
    const isBack = await workersAreBack(writableAt);
    await settle(cluster, isSynchronous);
    const wentBack = (await takesWrites(cluster)).timeline < timeline;
    const settledAt = Date.now();
    await sleep(steadyMs);
    const until = Date.now();
    const own = completions.slice(before.completions);
    const first = firstCompletions(own, workers, writableAt);
    const times = Object.values(first);
    const losses = await findLosses(ask, {
      started: [...started.keys()].slice(before.started),
      completions: own,
    });
    const round = {
      fault: name,
      newLeader: inSeconds(leaderAt - at),
      takesWrites: inSeconds(writableAt - at),
      firstCompletion: isBack ? Math.min(...times) : null,
      slowestWorker: isBack ? Math.max(...times) : null,
      rateBack: rateBackAfter(own, writableAt, jobsPerSecond),
      longestGap: longestGap(own, at, until),
      workers: first,
      latencies: medianLatencies(started, own, settledAt),
      lost: { starts: losses.starts, outcomes: losses.outcomes },
      doubled: findDoubled(completions).length - doubledBefore,
      wentBack,
    };
    doubledBefore += round.doubled;
    print(`  ${JSON.stringify(round)}`);
    const loss = describeLoss(losses, started, at);
    round.lostFrom = loss?.from;
    if (loss) {
      print(`  lost: ${JSON.stringify(loss)}`);
      for (const entry of diary.since(at - 10_000)) print(`  ten seconds before, and ${entry}`);
      if (isSynchronous) for (const node of cluster.nodes) print(`${node.name}:\n${node.output()}`);
    }
    return round;
  };
  let doubledBefore = 0;

  const judge = async (rounds) => {
    const problems = [];
    const expect = (holds, problem) => {
      if (!holds) problems.push(problem);
    };
    await fleet.stop("producer");
    const isFinished = await isDone(async () => (await countUnfinished(ask)) === 0);
    expect(isFinished, `${await countUnfinished(ask)} jobs are stuck`);
    await fleet.stop("worker");
    for (const [damage, found] of Object.entries(await findDamages(ask))) expect(false, `${found} ${damage}`);
    for (const { name, code, signal, stderr } of fleet.deaths)
      expect(
        false,
        `${name} ended with ${code ?? signal}: ${stderr.trim().split("\n").slice(-12).join("\n    ")}`,
      );
    for (const { fault, workers: first, rateBack, latencies, wentBack } of rounds) {
      // Then what the other leader confirmed is gone.
      expect(!wentBack, `Patroni went back to a leader that had been replaced, after ${fault}`);
      for (const [worker, latency] of Object.entries(latencies))
        expect(latency < longestLatencyMs, `a job of ${worker} took ${latency} ms long after ${fault}`);
      for (const [worker, time] of Object.entries(first))
        expect(time !== null && time < longestRecoverySeconds, `${worker} was back ${time} s after ${fault}`);
      expect(rateBack !== null, `the rate did not come back after ${fault}`);
    }
    const losses = await findLosses(ask, { started: [...started.keys()], completions });
    const lost = { starts: losses.starts, outcomes: losses.outcomes };
    const doubled = findDoubled(completions);
    for (const problem of findUnexplained(rounds, lost)) expect(isSynchronous, problem);
    if (isSynchronous) {
      expect(lost.starts === 0, `${lost.starts} acknowledged starts are lost`);
      expect(lost.outcomes === 0, `${lost.outcomes} acknowledged outcomes are lost`);
      expect(doubled.length === 0, `${doubled.length} jobs were acknowledged as completed twice`);
    }
    return { problems, lost, doubled: doubled.length };
  };

  try {
    await setUp(pool);
    await fleet.launchAll(describeMembers(workers, jobsPerSecond));
    await settle(cluster, isSynchronous);
    await sleep(steadyMs);
    const rounds = [];
    for (const [index, name] of chosen.entries()) rounds.push(await runRound(name, index));
    const verdict = await judge(rounds);
    return {
      mode,
      seed,
      rounds,
      started: started.size,
      completed: completions.length,
      events: fleet.counts,
      failures: Object.fromEntries(fleet.failures),
      deaths: fleet.deaths.length,
      ...verdict,
    };
  } finally {
    fleet.killAll();
    diary.stop();
    await pool.end();
    await pgBouncer.stop();
    await cluster.stop();
  }
};
