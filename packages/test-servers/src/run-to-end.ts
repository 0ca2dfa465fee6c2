import { spawn } from "node:child_process";
import type { ServerUser } from "./server-process.ts";

/** Runs a program that is expected to end with 0. The error has what it printed. */
export const runToEnd = (
  command: string,
  args: readonly string[],
  user: ServerUser | undefined,
  cwd: string,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "pipe"], cwd, ...user });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ended with ${code}:\n${output}`)),
    );
  });
