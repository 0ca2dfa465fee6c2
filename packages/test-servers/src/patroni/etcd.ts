import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findDebianProgram } from "../debian-package.ts";
import { findFreePort } from "../free-port.ts";
import { type ServerProcess, startServerProcess } from "../server-process.ts";

export interface Etcd extends ServerProcess {
  readonly port: number;
}

/** It accepts connections before it has elected itself. */
const isReady = async (url: string): Promise<boolean> => {
  const answer = await fetch(`${url}/version`).catch(() => undefined);
  const version = (await answer?.json()) as { etcdcluster?: string } | undefined;
  return /^\d/.test(version?.etcdcluster ?? "");
};

/** Starts one etcd, with versions 2 and 3 of its API, that keeps its data in `folder`. */
export const startEtcd = async (folder: string): Promise<Etcd> => {
  const command = await findDebianProgram("/usr/bin/etcd", "etcd-server");
  const port = await findFreePort();
  const peerPort = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const settings = {
    name: "etcd",
    "data-dir": join(folder, "etcd"),
    "listen-client-urls": url,
    "advertise-client-urls": url,
    "listen-peer-urls": peerUrl,
    "initial-advertise-peer-urls": peerUrl,
    "initial-cluster": `etcd=${peerUrl}`,
    "log-level": "error",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const server = await startServerProcess({ command, args: [...args, "--enable-v2"], port, cwd: folder });
  while (!(await isReady(url))) await sleep(50);
  return { ...server, port };
};
