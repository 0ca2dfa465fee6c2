import { execFile } from "node:child_process";

export interface RunResult {
  readonly code: number;
  /** What the program printed, on both streams. */
  readonly output: string;
}

/** Runs a program to its end; a code other than 0 is a result, not an error. */
export const run = (command: string, args: readonly string[], cwd: string): Promise<RunResult> =>
  new Promise((resolve) => {
    // `npm run` and vitest leave settings in the environment that a fresh shell does not have.
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|VITEST|NODE_ENV|NODE_OPTIONS)/.test(name),
    );
    const env = { ...Object.fromEntries(inherited), NO_PROXY: "127.0.0.1", NO_COLOR: "1" };
    execFile(command, args, { cwd, env, timeout: 180_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });

/** Runs a program that has to succeed. */
export const runWell = async (command: string, args: readonly string[], cwd: string): Promise<string> => {
  const { code, output } = await run(command, args, cwd);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output}`);
  return output;
};
