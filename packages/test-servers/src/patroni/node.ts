import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findDebianProgram } from "../debian-package.ts";
import { findFreePort } from "../free-port.ts";
import { type ServerProcess, startServerProcess, unprivilegedUser } from "../server-process.ts";
import { describeNode } from "./configuration.ts";
import { openLink } from "./link.ts";
import { familyOf, findPostmaster, signalAll } from "./processes.ts";

export interface ClusterMember {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
  /** Bytes; of standbys. */
  readonly lag?: number | string;
}

/** PostgreSQL, and the Patroni that looks after it. */
export interface PatroniNode {
  readonly name: string;
  /** Where clients connect. */
  readonly port: number;
  readonly restPort: number;
  readonly configFile: string;
  output(): string;
  /** Whether Patroni says that this is the leader. One that does not answer is not. */
  isLeader(): Promise<boolean>;
  /** The cluster as this node sees it. */
  members(): Promise<readonly ClusterMember[]>;
  start(): Promise<void>;
  /** The machine dies. */
  kill(): Promise<void>;
  /** PostgreSQL crashes; Patroni notices. */
  killPostgres(): void;
  /** Stops in good order. */
  shutDown(): Promise<void>;
  /** The machine hangs, or only Patroni, which leaves PostgreSQL to itself. */
  pause(what: "node" | "patroni"): void;
  resume(): void;
  /** The other nodes cannot reach it. */
  cutReplication(): void;
  /** It can reach neither etcd nor the other nodes; clients still reach it. */
  isolate(): void;
  /** Mends what was cut. */
  rejoin(): void;
  stop(): Promise<void>;
}

export interface PatroniNodeOptions {
  readonly name: string;
  readonly folder: string;
  readonly programsFolder: string;
  readonly etcdPort: number;
  readonly isSynchronous: boolean;
}

const answerTimeoutMs = 2_000;

export const createPatroniNode = async (options: PatroniNodeOptions): Promise<PatroniNode> => {
  const { name, folder, programsFolder, etcdPort, isSynchronous } = options;
  const command = await findDebianProgram("/usr/bin/patroni", "patroni");
  const dataFolder = join(folder, name);
  const configFile = join(folder, `${name}.yml`);
  const port = await findFreePort();
  const restPort = await findFreePort();
  const [postgresLink, restLink, etcdLink] = await Promise.all([port, restPort, etcdPort].map(openLink));
  const links = [postgresLink!, restLink!, etcdLink!];
  const ports = {
    postgres: port,
    rest: restPort,
    postgresLink: postgresLink!.port,
    restLink: restLink!.port,
    etcdLink: etcdLink!.port,
  };
  await writeFile(
    configFile,
    describeNode({ name, folder, dataFolder, programsFolder, ports, isSynchronous }),
  );

  let patroni: ServerProcess | undefined;
  let paused: number[] = [];

  const postgres = (): number[] => {
    const postmaster = findPostmaster(dataFolder);
    return postmaster === undefined ? [] : familyOf(postmaster);
  };
  const killPostgres = (): void => signalAll(postgres(), "SIGKILL");
  // Patroni does not take PostgreSQL with it.
  process.once("exit", killPostgres);

  const ask = async (path: string): Promise<Response | undefined> =>
    fetch(`http://127.0.0.1:${restPort}${path}`, { signal: AbortSignal.timeout(answerTimeoutMs) }).catch(
      () => undefined,
    );
  const start = async (): Promise<void> => {
    patroni = await startServerProcess({
      command,
      args: [configFile],
      port: restPort,
      cwd: folder,
      env: { HOME: folder },
      user: unprivilegedUser(),
      startTimeoutMs: 120_000,
    });
  };
  const kill = async (): Promise<void> => {
    const ended = patroni?.end("SIGKILL");
    killPostgres();
    await ended;
    patroni = undefined;
    paused = [];
  };

  return {
    name,
    port,
    restPort,
    configFile,
    output: () => patroni?.output() ?? "",
    isLeader: async () => (await ask("/primary"))?.status === 200,
    members: async () => {
      const answer = await ask("/cluster");
      const body = (await answer?.json().catch(() => undefined)) as { members?: ClusterMember[] } | undefined;
      return body?.members ?? [];
    },
    start,
    kill,
    killPostgres,
    shutDown: async () => {
      await patroni?.end("SIGTERM");
      patroni = undefined;
    },
    pause: (what) => {
      paused = patroni ? [patroni.pid, ...(what === "node" ? postgres() : [])] : [];
      signalAll(paused, "SIGSTOP");
    },
    resume: () => {
      signalAll(paused, "SIGCONT");
      paused = [];
    },
    cutReplication: () => postgresLink!.cut(),
    isolate: () => {
      for (const link of links) link.cut();
    },
    rejoin: () => {
      for (const link of links) link.mend();
    },
    stop: async () => {
      await kill();
      await Promise.all(links.map((link) => link.close()));
      process.off("exit", killPostgres);
    },
  };
};
