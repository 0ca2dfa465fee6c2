import { tmpdir } from "node:os";
import { vi } from "vitest";
import { main } from "../main.ts";
import type { Result } from "./run-cli.ts";

const capture = (stream: NodeJS.WriteStream): { readonly text: () => string; restore(): void } => {
  let text = "";
  const spy = vi.spyOn(stream, "write").mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  return { text: () => text, restore: () => spy.mockRestore() };
};

/** Runs the command in this process, which takes milliseconds where a new process takes half a second. */
export const runMain = async (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  folder: string = tmpdir(),
): Promise<Result> => {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  const before = { ...process.env };
  const listeners = process.stdout.listeners("error");
  for (const name of ["LEASEHOLD_STORE", "DATABASE_URL", "FORCE_COLOR"]) delete process.env[name];
  Object.assign(process.env, env);
  const stdout = capture(process.stdout);
  const stderr = capture(process.stderr);
  try {
    const code = await main(["node", "leasehold", ...args]);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.restore();
    stderr.restore();
    cwd.mockRestore();
    process.env = before;
    for (const listener of process.stdout.listeners("error")) {
      if (!listeners.includes(listener)) process.stdout.off("error", listener as () => void);
    }
  }
};
