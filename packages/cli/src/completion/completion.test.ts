import { execFile } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { executable, type Result } from "../testing/run-cli.ts";
import { runMain } from "../testing/run-main.ts";
import { openTestStore, type TestStore } from "../testing/stores.ts";

let store: TestStore;

let mailId: string;

beforeEach(async () => {
  store = await openTestStore("sqlite");
  const { leasehold } = store;
  ({ id: mailId } = await leasehold.startJobSequence({ typeName: "mail:send", input: null, queue: "post" }));
  await leasehold.startJobSequence({ typeName: "mail:draft", input: null });
  const { id } = await leasehold.startJobSequence({ typeName: "parcel", input: null });
  await leasehold.jobs.cancel({ ids: [id] });
});

afterEach(() => store.close());

const ask = (words: readonly string[], env: Record<string, string> = {}): Promise<Result> =>
  runMain(["__complete", "--", ...words], env, store.folder.path);

const valuesOf = async (...words: string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await ask(words, { LEASEHOLD_STORE: "sqlite:./jobs.db" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t")[0]!);
};

describe("completion from the store", () => {
  it("offers queues, types and ids", async () => {
    expect(await valuesOf("list", "--queue", "")).toEqual(["default", "post"]);
    expect(await valuesOf("list", "--type=mail")).toEqual(["--type=mail:draft", "--type=mail:send"]);
    expect(await valuesOf("start", "pa")).toEqual(["parcel"]);
    expect(await valuesOf("inspect", "")).toHaveLength(3);
    expect(await valuesOf("inspect", mailId.slice(0, -1))).toEqual([mailId]);
    expect(await valuesOf("cancel", "")).toHaveLength(2);
    expect(await valuesOf("failed", "redrive", "")).toHaveLength(1);
  });

  it("asks the store that the words name", async () => {
    const { stdout } = await ask(["--store", `sqlite:${store.folder.path}/jobs.db`, "list", "-q", "p"]);
    expect(stdout).toBe("post\n");
  });

  it("offers the types of the config module", async () => {
    store.folder.write(
      "leasehold.config.mjs",
      `import { defineJobTypes, typeOnly } from "leasehold";
       export default { jobTypes: defineJobTypes({ report: { input: typeOnly(), output: typeOnly() } }) };`,
    );
    expect(await valuesOf("start", "re")).toEqual(["report"]);
  });

  it("says nothing where the store cannot be asked", async () => {
    for (const address of ["sqlite:./nope.db", "postgres://127.0.0.1:1/x", "nonsense"]) {
      const result = await ask(["inspect", ""], { LEASEHOLD_STORE: address });
      expect(result).toEqual({ code: 0, stdout: "", stderr: "" });
    }
  });
});

// What each shell makes of the script: typed words, then the candidates it would offer.
const drivers: Readonly<Record<string, (script: string, line: string) => string>> = {
  bash: (script, line) =>
    `${script}\nCOMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (script, line) => `autoload -Uz compinit; compdef() { :; }; _files() { print :paths; }
    _describe() { print -l -- "\${(@P)2}"; }
    ${script}
    line=${JSON.stringify(line)}; words=(\${=line}); [[ $line == *' ' ]] && words+=(""); CURRENT=$#words; _leasehold`,
  fish: (script, line) => `${script}\ncomplete -C ${JSON.stringify(line)}`,
};

const isInstalled = (shell: string): boolean =>
  ["/bin", "/usr/bin", "/usr/local/bin"].some((folder) => existsSync(`${folder}/${shell}`));

// Only bash is on every machine that runs the tests.
describe.each(Object.keys(drivers).filter(isInstalled))("the script for %s", (shell) => {
  it("completes commands, values of the store and values with a colon", async () => {
    const { folder } = store;
    folder.write("leasehold", `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@"\n`);
    chmodSync(`${folder.path}/leasehold`, 0o755);
    const env = {
      ...process.env,
      PATH: `${folder.path}:${process.env["PATH"]}`,
      LEASEHOLD_STORE: "sqlite:./jobs.db",
    };
    const { stdout: script } = await runMain(["completion", shell]);
    const offered = async (line: string): Promise<string[]> => {
      const { stdout } = await promisify(execFile)(shell, ["-c", drivers[shell]!(script, line)], {
        cwd: folder.path,
        env,
      });
      return stdout.split("\n").filter((text) => text !== "");
    };
    expect((await offered("leasehold insp")).join()).toContain("inspect");
    expect((await offered("leasehold list --queue p")).join()).toContain("post");
    expect((await offered("leasehold inspect ")).join("\n")).toContain(mailId);
    // Bash replaces only what follows the colon.
    const types = (await offered("leasehold start mail:s")).join().replaceAll("\\", "");
    expect(types).toContain(shell === "bash" ? "send" : "mail:send");
    if (shell === "bash") expect(types).not.toContain("mail:");
    expect(await offered("leasehold inspect no-such")).toEqual([]);
  }, 60_000);
});
