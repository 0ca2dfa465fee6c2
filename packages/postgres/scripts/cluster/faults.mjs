// What happens to the cluster. `strike` begins it; `mend` ends it after there is a new leader.
// With `replaces`, another node has to become the leader. With `loses`, PostgreSQL may lose what it has not replicated yet.
import { setTimeout as sleep } from "node:timers/promises";

/** The machine of the leader dies, and comes back. */
const kill = {
  replaces: true,
  loses: true,
  strike: ({ leader }) => leader.kill(),
  mend: ({ leader }) => leader.start(),
};

/** PostgreSQL crashes on the leader; its machine is well. */
const crash = { replaces: true, loses: true, strike: ({ leader }) => leader.killPostgres() };

/** The machine of the leader hangs, and wakes up as a leader that has been replaced. */
const hang = {
  replaces: true,
  loses: true,
  strike: ({ leader }) => leader.pause("node"),
  mend: ({ leader }) => leader.resume(),
};

/** Only Patroni hangs. PostgreSQL stays a primary beside the new leader until Patroni wakes up: two primaries at once. */
const split = {
  replaces: true,
  loses: true,
  strike: ({ leader }) => leader.pause("patroni"),
  mend: ({ leader }) => leader.resume(),
};

/** The leader can reach neither etcd nor the other nodes, while clients can still reach it. */
const isolate = {
  replaces: true,
  loses: true,
  strike: ({ leader }) => leader.isolate(),
  mend: ({ leader }) => leader.rejoin(),
};

/** The leader is stopped in good order, and started again. */
const shutdown = {
  replaces: true,
  strike: ({ leader }) => leader.shutDown(),
  mend: ({ leader }) => leader.start(),
};

/** Patroni refuses while it is busy with something else. */
const control = async (cluster, ...args) => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await cluster.control(...args);
    } catch (error) {
      if (tries === 3) throw error;
      await sleep(3_000);
    }
  }
};

/** The leader's PostgreSQL is restarted, and stays the leader. */
const restart = { strike: ({ cluster, leader }) => control(cluster, "restart", leader.name, "--force") };

const switchover = { replaces: true, strike: ({ cluster }) => control(cluster, "switchover", "--force") };

/** A standby is built anew from the leader. */
const reinit = {
  strike: ({ cluster, leader, random }) => {
    const standbys = cluster.nodes.filter((node) => node !== leader);
    const { name } = standbys[Math.floor(random() * standbys.length)];
    return control(cluster, "reinit", name, "--force", "--wait");
  },
};

export const faults = { kill, crash, hang, split, isolate, shutdown, restart, switchover, reinit };

/** A generator of random numbers that a seed determines (mulberry32). */
export const createRandom = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** So many faults, in an order chosen by the seed: each kind once before any comes again. */
export const chooseFaults = (kinds, count, random) => {
  const chosen = [];
  while (chosen.length < count) {
    const left = [...kinds];
    while (left.length > 0) chosen.push(left.splice(Math.floor(random() * left.length), 1)[0]);
  }
  return chosen.slice(0, count);
};
