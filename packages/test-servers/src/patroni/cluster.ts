import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findDebianProgram } from "../debian-package.ts";
import { runToEnd } from "../run-to-end.ts";
import { unprivilegedUser } from "../server-process.ts";
import { clusterName, superuser } from "./configuration.ts";
import { startEtcd } from "./etcd.ts";
import { startHaProxy } from "./haproxy.ts";
import { createPatroniNode, type PatroniNode } from "./node.ts";

/** Three PostgreSQL nodes, one of them the leader, and an HAProxy that leads to it. */
export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  /** Of HAProxy. */
  readonly port: number;
  readonly user: string;
  /** The node that is the leader now, if there is one. */
  leader(): Promise<PatroniNode | undefined>;
  /** Waits until a node is the leader, other than `not`. */
  newLeader(not?: PatroniNode): Promise<PatroniNode>;
  /** Waits until all nodes are well, so that the next one may fail. */
  settled(): Promise<void>;
  /** Runs `patronictl` with the cluster's name after the command. */
  control(command: string, ...args: readonly string[]): Promise<string>;
  /** Ends everything and removes its data. Idempotent. */
  stop(): Promise<void>;
}

export interface PatroniClusterOptions {
  /** Whether a commit waits for a standby. */
  readonly isSynchronous: boolean;
}

const names = ["alpha", "beta", "gamma"] as const;
const patienceMs = 90_000;
const pauseMs = 250;
const mostLag = 1_000_000;

const until = async <T>(find: () => Promise<T | undefined>, what: () => string): Promise<T> => {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${what()} after ${patienceMs} ms.`);
    await sleep(pauseMs);
  }
};

export const startPatroniCluster = async ({
  isSynchronous,
}: PatroniClusterOptions): Promise<PatroniCluster> => {
  const programsFolder = "/usr/lib/postgresql/15/bin";
  await findDebianProgram(`${programsFolder}/postgres`, "postgresql-15");
  const patronictl = await findDebianProgram("/usr/bin/patronictl", "patroni");
  const user = unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-patroni-"));
  await chmod(folder, 0o755);
  if (user) await chown(folder, user.uid, user.gid);

  const etcd = await startEtcd(folder);
  const nodes: PatroniNode[] = [];
  for (const name of names) {
    nodes.push(await createPatroniNode({ name, folder, programsFolder, etcdPort: etcd.port, isSynchronous }));
  }
  const outputs = (): string => nodes.map((node) => `${node.name}:\n${node.output()}`).join("\n");

  const leader = async (): Promise<PatroniNode | undefined> => {
    const answers = await Promise.all(nodes.map((node) => node.isLeader()));
    return nodes.find((_node, index) => answers[index]);
  };
  const newLeader = (not?: PatroniNode): Promise<PatroniNode> =>
    until(
      async () => {
        const found = await leader();
        return found === not ? undefined : found;
      },
      () => `There is no new leader\n${outputs()}`,
    );

  const control: PatroniCluster["control"] = (command, ...args) =>
    runToEnd(patronictl, ["-c", nodes[0]!.configFile, command, clusterName, ...args], undefined, folder);

  // One is the leader before the others join, so that they have somebody to copy.
  await nodes[0]!.start();
  await newLeader();
  await Promise.all(nodes.slice(1).map((node) => node.start()));

  const isSettled = async (): Promise<true | undefined> => {
    const members = (await (await leader())?.members()) ?? [];
    const timelines = new Set(members.map(({ timeline }) => timeline));
    const isWell =
      members.length === names.length &&
      timelines.size === 1 &&
      members.filter(({ role }) => role === "leader").length === 1 &&
      members.every(({ state }) => state === "running" || state === "streaming") &&
      members.every(({ role, lag }) => role === "leader" || Number(lag) <= mostLag) &&
      (!isSynchronous || members.some(({ role }) => role === "sync_standby"));
    return isWell ? true : undefined;
  };

  const haProxy = await startHaProxy(
    folder,
    nodes.map(({ name, port, restPort }) => ({ name, port, checkPort: restPort })),
  );

  let isStopped = false;
  const cluster: PatroniCluster = {
    nodes,
    port: haProxy.port,
    user: superuser,
    leader,
    newLeader,
    settled: async () => {
      await until(isSettled, () => `The cluster has not settled\n${outputs()}`);
    },
    control,
    stop: async () => {
      if (isStopped) return;
      isStopped = true;
      await Promise.all(nodes.map((node) => node.stop()));
      await Promise.all([haProxy.end("SIGKILL"), etcd.end("SIGKILL")]);
      await rm(folder, { recursive: true, force: true });
    },
  };
  await cluster.settled();
  return cluster;
};
