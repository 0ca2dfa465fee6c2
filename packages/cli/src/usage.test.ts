import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sameMomentMs } from "./commands/signals.ts";
import { createFolder, type Folder } from "./testing/run-cli.ts";
import { runMain } from "./testing/run-main.ts";
import { openTestStore, type TestStore } from "./testing/stores.ts";

let folder: Folder;

beforeEach(() => {
  folder = createFolder();
});

afterEach(() => folder.remove());

const store = ["--store", "sqlite:./jobs.db"] as const;

describe("usage", () => {
  it("suggests what a mistyped command may have meant", async () => {
    const { code, stderr, stdout } = await folder.run("inspct", "x");
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain("Did you mean inspect?");
  });

  it("reports wrong usage as JSON where JSON is asked for", async () => {
    const { code, stderr } = await folder.run("list", "--limti", "3", "--json");
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "Usage" } });
    expect(stderr).toContain("Did you mean --limit?");
  });

  it("says how to name a store", async () => {
    const { code, stderr } = await folder.run("list");
    expect(code).toBe(2);
    expect(stderr).toContain("No store was given");
    expect(stderr).toContain("LEASEHOLD_STORE");
  });

  it("does not create a database by looking for one", async () => {
    const { code, stderr } = await folder.run("list", ...store);
    expect(code).toBe(4);
    expect(stderr).toContain("leasehold migrate");
    expect(existsSync(`${folder.path}/jobs.db`)).toBe(false);
  });

  it("never prints the password of an address", async () => {
    const address = "postgres://ada:hunter2%21@127.0.0.1:1/shop?sslpassword=hunter3";
    const refused = await folder.run("list", "--store", address);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain("Check that the server runs");
    const mistaken = await folder.run(address);
    expect(mistaken.code).toBe(2);
    const invalid = await folder.run("list", "--json", "--store", "postgres://ada:hunter2!@[::1/shop");
    expect(invalid.code).toBe(2);
    for (const { stdout, stderr } of [refused, mistaken, invalid]) {
      expect(stdout + stderr).not.toMatch(/hunter[23]/);
    }
  });

  it("ends although a module has left something open", async () => {
    folder.write("leasehold.config.mjs", "setInterval(() => {}, 1_000); export default {};");
    expect((await folder.run("migrate", ...store)).code).toBe(0);
  });

  it("takes only JSON for an input", async () => {
    const { code, stderr } = await folder.run("start", "mail", "--input", "hello", ...store);
    expect(code).toBe(2);
    expect(stderr).toContain("Text needs quotes inside");
  });
});

describe("wrong usage", () => {
  const cases: readonly (readonly [args: string[], error: string, hint: string])[] = [
    [["inspct", "x"], 'There is no command "inspct".', "Did you mean inspect?"],
    [["list", "--limti", "3"], "There is no option --limti.", "Did you mean --limit?"],
    [["list", "--limit", "many"], '--limit cannot be "many".', "It must be a whole number from 1 to 1000."],
    [["list", "--limit"], "--limit needs a value: -n, --limit <number>.", "See `leasehold list --help`."],
    [["inspect"], "<id> is missing.", "See `leasehold inspect --help`."],
    [
      ["failed", "list", "--newest", "x"],
      "There is no option --newest.",
      "See `leasehold failed list --help`.",
    ],
    [["list", "--order", "x"], '--order cannot be "x".', "Allowed choices are newest, oldest."],
    [["completion", "tcsh"], '<shell> cannot be "tcsh".', "Allowed choices are bash, zsh, fish."],
    [
      ["start", "mail", "--at", "tomorrow"],
      '--at cannot be "tomorrow".',
      "It must be a date such as 2026-01-31T12:00Z, or how long from now, such as 10m.",
    ],
    [
      ["list", "--created-after", "yesterday"],
      '--created-after cannot be "yesterday".',
      "It must be a date such as 2026-01-31T12:00Z, or how long ago, such as 2h.",
    ],
    [["list", "--status", "done"], '--status cannot be "done".', "It is one of blocked, pending,"],
  ];

  it.each(cases)("%j is reported like any other error", async (args, error, hint) => {
    const { code, stdout, stderr } = await runMain(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`error ${error}\nhint  ${hint}`);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });

  it("shows the help where a command was left out", async () => {
    const { code, stderr } = await runMain(["failed"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: leasehold failed");
    expect(stderr).not.toContain("error");
  });
});

describe("a module", () => {
  const load = async (name: string, text: string): Promise<string> => {
    folder.write("jobs.db", "");
    await folder.run("migrate", ...store);
    folder.write(name, text);
    const { code, stderr } = await folder.run("worker", "run", name, ...store);
    expect(code).toBe(2);
    expect(stderr).not.toContain("Require stack");
    return stderr;
  };

  it("that throws is reported with the place, in JavaScript and in TypeScript", async () => {
    for (const name of ["throws.mjs", "throws.ts"]) {
      const stderr = await load(
        name,
        'const explode = () => {\n  throw new TypeError("boom");\n};\nexplode();\n',
      );
      expect(stderr).toContain("cannot be loaded: TypeError: boom\n");
      expect(stderr).toMatch(new RegExp(`at explode .*${name}:2:`));
      expect(stderr).toContain("LEASEHOLD_DEBUG=1");
      expect(stderr).not.toContain("jiti");
    }
    const stderr = await load("late.mjs", 'export default () => {\n  throw new Error("no queue");\n};\n');
    expect(stderr).toMatch(/did not make a worker: Error: no queue\n +at .*late.mjs:2:/);
  });

  it("that is missing, or imports one that is, is reported with what exists", async () => {
    folder.write("near.ts", "export const near = 1;");
    const missing = await folder.run("worker", "run", "near.js", ...store);
    expect(missing.stderr).toContain("no database");
    const relative = await load("main.mjs", 'import "./near.js";');
    expect(relative).toMatch(/main.mjs imports .*near.js, which is not there.\nhint {2}There is .*near.ts/);
    expect(await load("main.ts", 'import "./nope.js";')).toMatch(
      /main.ts imports .*nope.js, which is not there./,
    );
    for (const name of ["main.mjs", "main.ts"]) {
      expect(await load(name, 'import "no-such-package";')).toContain("npm install no-such-package");
    }
    expect((await folder.run("worker", "run", "near.js", ...store)).stderr).toMatch(
      /Did you mean .*near.ts\?/,
    );
  });
});

describe("migrate", () => {
  it("shows, applies and reports migrations", async () => {
    folder.write("jobs.db", "");
    const before = await folder.run("migrate", "status", ...store);
    expect(before).toMatchObject({ code: 5 });
    expect(before.stdout).toContain("pending  1 initial");
    const unmigrated = await folder.run("stats", ...store);
    expect(unmigrated.code).toBe(4);
    expect(unmigrated.stderr).toContain("no Leasehold tables");
    const plan = await folder.run("migrate", "--dry-run", ...store);
    expect(plan.stdout).toContain("CREATE TABLE");
    expect(await folder.run("migrate", ...store)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^✓ 1 initial\n(✓ \d+ .+\n)*$/u),
    });
  });
});

describe("a config module", () => {
  it("in TypeScript names the store, and gives job types that inputs are checked by", async () => {
    folder.write(
      "leasehold.config.ts",
      `import { defineConfig } from "@leasehold/cli";
       import { defineJobTypes } from "leasehold";
       const text = { "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) =>
         typeof value === "string" ? { value } : { issues: [{ message: "must be text" }] } } };
       export default defineConfig({
         store: "sqlite:./own.db",
         jobTypes: defineJobTypes({ mail: { input: text as any, queue: "post" } }),
       });`,
    );
    expect((await folder.run("migrate")).code).toBe(0);
    expect(existsSync(`${folder.path}/own.db`)).toBe(true);
    const right = folder.start(["start", "mail", "--input", "-", "--json"], { stdin: '"dear Ada"' });
    const { stdout } = await right.ended;
    expect(JSON.parse(stdout)).toMatchObject({ sequence: { typeName: "mail", input: "dear Ada" } });
    const wrong = await folder.run("start", "mail", "--input", "1");
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain("must be text");
  });

  it("may bring adapters of its own, and names its mistakes", async () => {
    folder.write(
      "leasehold.config.mjs",
      `import { createInProcessStateAdapter } from "leasehold";
       export default { store: () => ({ stateAdapter: createInProcessStateAdapter() }) };`,
    );
    const { code, stdout } = await folder.run("start", "mail", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ deduplicated: false });
    folder.write("leasehold.config.mjs", "export default { stroe: 1 };");
    const mistaken = await folder.run("list");
    expect(mistaken.code).toBe(2);
    expect(mistaken.stderr).toContain('"stroe" is not a setting');
  });
});

describe("a person", () => {
  let { folder, leasehold, close }: TestStore = {} as TestStore;
  beforeEach(async () => {
    ({ folder, leasehold, close } = await openTestStore("sqlite"));
  });
  afterEach(() => close());

  it("is asked before jobs are changed", async () => {
    const terminal = { columns: 100, rows: 24 };
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: null });
    const declined = folder.start(["cancel", id], { terminal });
    await declined.waitFor("Cancel 1 sequence?");
    declined.type("n");
    const no = await declined.ended;
    expect(no.code).toBe(6);
    expect(no.stdout).toContain("Nothing was changed.");
    expect(no.stdout).not.toContain("error");
    expect((await leasehold.jobs.get({ id }))?.status).toBe("pending");
    const agreed = folder.start(["cancel", id], { terminal });
    await agreed.waitFor("Cancel 1 sequence?");
    agreed.type("y");
    const { code, stdout } = await agreed.ended;
    expect(code).toBe(0);
    expect(stdout).toContain(`${id}  cancelled`);
  });

  it("can end a worker at once by a second signal", async () => {
    await leasehold.startJobSequence({ typeName: "stuck", input: null });
    folder.write(
      "worker.mjs",
      `import { createLeasehold, defineUnionJobTypes } from "leasehold";
       export default async (context) => {
         const leasehold = await createLeasehold({ ...context, jobTypes: defineUnionJobTypes() });
         return leasehold.createWorker().implementJobType({
           typeName: "stuck",
           process: () => { console.log("begun"); return new Promise(() => {}); },
         });
       };`,
    );
    const worker = folder.start(["worker", "run", "worker.mjs"]);
    await worker.waitFor("begun");
    worker.kill("SIGINT");
    await worker.waitFor("Ctrl-C again");
    // A signal of the same moment is the first one, passed on by npm.
    worker.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, sameMomentMs + 100));
    worker.kill("SIGINT");
    expect((await worker.ended).code).toBe(130);
  });
});
