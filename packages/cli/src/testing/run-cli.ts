import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const packageFolder = resolve(import.meta.dirname, "../..");
export const executable: string = join(packageFolder, "bin/leasehold.js");
const packages = resolve(packageFolder, "..");
const linked: Readonly<Record<string, string>> = {
  leasehold: "core",
  "@leasehold/cli": "cli",
  "@leasehold/sqlite": "sqlite",
  "@leasehold/postgres": "postgres",
  "@leasehold/mongodb": "mongodb",
  mongodb: "../node_modules/mongodb",
  pg: "../node_modules/pg",
};

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly pid: number;
  /** Resolves with all output so far once it contains this text. */
  waitFor(text: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Writes to its stdin, as keys to a terminal. */
  type(text: string): void;
  readonly ended: Promise<Result>;
}

export interface Folder {
  readonly path: string;
  write(name: string, text: string): string;
  /** Runs the command to its end. */
  run(...args: string[]): Promise<Result>;
  start(args: readonly string[], options?: StartOptions): RunningCli;
  /** Runs a script in the folder with Node. */
  startScript(script: string): RunningCli;
  /** Copies a file from a folder of the repository. */
  copy(from: string, name: string): void;
  remove(): void;
}

export interface StartOptions {
  /** In a pseudo-terminal of this size. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
  readonly stdin?: string;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A folder of its own, where modules find the packages of the repository. */
export const createFolder = (env: Readonly<Record<string, string>> = {}): Folder => {
  const path = mkdtempSync(join(tmpdir(), "leasehold-cli-"));
  writeFileSync(join(path, "package.json"), '{"type":"module"}');
  mkdirSync(join(path, "node_modules/@leasehold"), { recursive: true });
  for (const [name, folder] of Object.entries(linked)) {
    symlinkSync(join(packages, folder), join(path, "node_modules", name));
  }
  const {
    LEASEHOLD_STORE: _store,
    DATABASE_URL: _url,
    CI: _ci,
    FORCE_COLOR: _force,
    ...inherited
  } = process.env;

  const alive = new Set<ChildProcess>();

  const startNode = (args: readonly string[], { terminal, stdin }: StartOptions = {}): RunningCli => {
    const line = [process.execPath, ...args].map(quote).join(" ");
    const [command, commandArgs] = terminal
      ? ["script", ["-qec", `stty cols ${terminal.columns} rows ${terminal.rows}; exec ${line}`, "/dev/null"]]
      : [process.execPath, [...args]];
    const child = spawn(command, commandArgs, {
      cwd: path,
      env: { ...inherited, ...env, TERM: "xterm-256color" },
      stdio: "pipe",
    });
    alive.add(child);
    child.once("exit", () => alive.delete(child));
    let stdout = "";
    let stderr = "";
    const watchers = new Set<() => void>();
    const heard = (): void => {
      for (const watcher of watchers) watcher();
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      heard();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      heard();
    });
    if (stdin !== undefined) child.stdin.end(stdin);
    else if (!terminal) child.stdin.end();
    const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
    return {
      pid: child.pid!,
      kill: (signal) => void child.kill(signal),
      type: (text) => void child.stdin.write(text),
      ended,
      waitFor: (text) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (!(stdout + stderr).includes(text)) return;
            watchers.delete(look);
            resolve(stdout + stderr);
          };
          watchers.add(look);
          look();
          void ended.then((result) => reject(new Error(`It ended first:\n${JSON.stringify(result)}`)));
        }),
    };
  };

  const start: Folder["start"] = (args, options) => startNode([executable, ...args], options);

  return {
    path,
    startScript: (script) => startNode([script]),
    copy: (from, name) => copyFileSync(join(packages, "..", from, name), join(path, name)),
    write: (name, text) => {
      const file = join(path, name);
      writeFileSync(file, text);
      return file;
    },
    start,
    run: (...args) => start(args).ended,
    remove: () => {
      // Only a test that failed leaves some.
      for (const child of alive) child.kill("SIGKILL");
      rmSync(path, { recursive: true, force: true });
    },
  };
};
