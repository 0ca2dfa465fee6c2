import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeCommands, workerModule } from "./testing/command-suite.ts";
import { createFolder } from "./testing/run-cli.ts";
import { openTestStore, postgresUrl, stopPostgres, type TestStore } from "./testing/stores.ts";

afterAll(stopPostgres);

describeCommands("postgres");

describe("on PostgreSQL alone", () => {
  let store: TestStore;
  beforeEach(async () => {
    store = await openTestStore("postgres");
  }, 30_000);
  afterEach(() => store.close());

  it("doctor finds a transaction that somebody forgot", async () => {
    const forgetful = new pg.Client({ connectionString: await postgresUrl(), application_name: "forgetful" });
    await forgetful.connect();
    await forgetful.query("BEGIN");
    // A problem is ten times older than the threshold; below that the result is a warning.
    await forgetful.query("SELECT pg_sleep(0.05)");
    const { code, value } = await store.json("doctor", "--transaction-age", "1ms");
    await forgetful.end();
    expect(code).toBe(5);
    expect(value.findings).toContainEqual(
      expect.objectContaining({
        check: "transactions",
        status: "problem",
        summary: expect.stringContaining("idle in transaction, forgetful"),
      }),
    );
  });

  it("start tells a worker at once, which would not have looked for long", async () => {
    const { folder, leasehold } = store;
    folder.write("worker.ts", workerModule);
    const worker = folder.start(["worker", "run", "worker.ts", "--poll-interval", "60s"]);
    await worker.waitFor("Worker started");
    const started = await folder.run("start", "greet", "--input", '"Grace"', "--wait", "15s");
    expect(started).toMatchObject({ code: 0, stdout: '"Hello, Grace!"\n' });
    expect(await leasehold.jobs.count()).toMatchObject([{ status: "completed", count: 1 }]);
    worker.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
  });

  it("the quick start for PostgreSQL does what its README says", async () => {
    const url = await postgresUrl();
    const folder = createFolder({ DATABASE_URL: url });
    for (const file of ["worker.js", "start-job.js"]) folder.copy("examples/quickstart-postgres", file);
    expect((await folder.run("migrate")).code).toBe(0);
    const worker = folder.start(["worker", "run", "worker.js"]);
    await worker.waitFor("Worker started");
    const started = await folder.startScript("start-job.js").ended;
    expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello, Ada!") });
    worker.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
    folder.remove();
  });
});
