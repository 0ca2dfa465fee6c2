import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A worker as its process describes it. */
export interface ReportedWorker {
  readonly id: string;
  readonly concurrency: number;
  readonly queues: readonly {
    readonly name: string;
    readonly concurrency: number;
    readonly claimAllTypes: boolean;
  }[];
  readonly typeNames: readonly string[];
  /** How many jobs it runs at the moment. */
  readonly running: number;
}

/** What a process says of itself. */
export interface About {
  readonly host: string;
  readonly pid: number;
  readonly node: string;
  /** The version of Leasehold; null where it cannot be found out, such as in a bundle. */
  readonly leasehold: string | null;
  readonly workers: readonly ReportedWorker[];
  /** It has said goodbye. */
  readonly ended: boolean;
}

const readVersion = (): string | null => {
  try {
    const path = join(dirname(fileURLToPath(import.meta.url)), "../../../package.json");
    const { name, version } = JSON.parse(readFileSync(path, "utf8")) as { name?: string; version?: string };
    return name === "leasehold" && version !== undefined ? version : null;
  } catch {
    return null;
  }
};

let versionOnce: string | null | undefined;

export const describeProcess = (workers: readonly ReportedWorker[], ended: boolean): string => {
  versionOnce ??= readVersion();
  const about: About = {
    host: hostname(),
    pid: process.pid,
    node: process.version,
    leasehold: versionOnce,
    workers,
    ended,
  };
  return JSON.stringify(about);
};

/** Of another release it may have more or less than ours. */
export const parseAbout = (text: string): About => {
  let about: Partial<About> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) about = parsed;
  } catch {
    // Then nothing is known of it.
  }
  const workers = Array.isArray(about.workers) ? (about.workers as readonly Partial<ReportedWorker>[]) : [];
  return {
    host: about.host ?? "",
    pid: about.pid ?? 0,
    node: about.node ?? "",
    leasehold: about.leasehold ?? null,
    workers: workers.map(({ id = "", concurrency = 0, queues = [], typeNames = [], running = 0 }) => ({
      id,
      concurrency,
      queues,
      typeNames,
      running,
    })),
    ended: about.ended ?? false,
  };
};
