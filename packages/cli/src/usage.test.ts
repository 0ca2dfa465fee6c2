import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFolder, type Folder } from "./testing/run-cli.ts";
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
    const unknown = await folder.run("list", "--store", "mysql://ada:hunter2@localhost/shop");
    expect(unknown.stderr).toContain("mysql://ada:***@localhost");
    for (const { stdout, stderr } of [refused, mistaken, invalid, unknown]) {
      expect(stdout + stderr).not.toMatch(/hunter[23]/);
    }
  });

  it("says what is missing for PostgreSQL", async () => {
    const hook = folder.write(
      "without-pg.mjs",
      `import { register } from "node:module";
       register("data:text/javascript," + encodeURIComponent(\`export const resolve = (name, context, next) => {
         if (name !== "pg") return next(name, context);
         throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
       }\`));`,
    );
    const without = createFolder({ NODE_OPTIONS: `--import=${hook}` });
    const { code, stderr } = await without.run("list", "--store", "postgres://localhost/shop");
    without.remove();
    expect(code).toBe(4);
    expect(stderr).toContain("npm install pg");
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

describe("migrate", () => {
  it("shows, applies and reports migrations", async () => {
    folder.write("jobs.db", "");
    const before = await folder.run("migrate", "status", ...store);
    expect(before).toMatchObject({ code: 5 });
    expect(before.stdout).toContain("pending  1 jobs");
    const unmigrated = await folder.run("stats", ...store);
    expect(unmigrated.code).toBe(4);
    expect(unmigrated.stderr).toContain("no Leasehold tables");
    const plan = await folder.run("migrate", "--dry-run", ...store);
    expect(plan.stdout).toContain("CREATE TABLE");
    expect(await folder.run("migrate", ...store)).toMatchObject({ code: 0, stdout: "✓ 1 jobs\n" });
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
    expect((await declined.ended).code).toBe(6);
    expect((await leasehold.getJob({ id }))?.status).toBe("pending");
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
    await new Promise((resolve) => setTimeout(resolve, 600));
    worker.kill("SIGINT");
    expect((await worker.ended).code).toBe(130);
  });
});
