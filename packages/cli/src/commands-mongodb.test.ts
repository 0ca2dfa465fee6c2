import { MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeCommands, workerModule } from "./testing/command-suite.ts";
import { createFolder } from "./testing/run-cli.ts";
import { mongodbUrl, openTestStore, stopMongodb, type TestStore } from "./testing/stores.ts";

// Up to ten commands one after the other, and each loads the driver first.
vi.setConfig({ testTimeout: 60_000 });

afterAll(stopMongodb);

describeCommands("mongodb", {
  without: {
    limits: "the adapter does not offer it yet",
    history: "the adapter does not offer it yet",
  },
});

describe("on MongoDB alone", () => {
  let store: TestStore;
  beforeEach(async () => {
    store = await openTestStore("mongodb");
  });
  afterEach(() => store.close());

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

  it("doctor knows the replica set and how long a transaction may last", async () => {
    const { code, value } = await store.json("doctor");
    expect(code).toBe(0);
    const summaryOf = (name: string): string =>
      value.findings.find(({ check }: { check: string }) => check === name).summary;
    expect(summaryOf("server")).toMatch(/^MongoDB [\d.]+, replica set \S+ with \d+ members?\.$/);
    expect(summaryOf("transactions")).toBe("A transaction may stay open for 1m.");
    expect(summaryOf("indexes")).toMatch(/^All \d+ indexes are there\.$/);
  });

  it("migrate makes what is missing, and prints it for MongoDB's shell first", async () => {
    const { folder, dropIndex } = store;
    await dropIndex();
    expect((await folder.run("list")).stderr).toContain("Run `leasehold migrate`");
    expect((await folder.run("migrate", "status")).stdout).toMatch(/^pending +\d+ index status$/m);
    const dry = await folder.run("migrate", "--dry-run");
    expect(dry.stdout).toMatch(
      /^\/\/ \d+ index status\ndb\.getCollection\("leasehold_jobs"\)\.createIndex\(\{"status":1/,
    );
    expect((await folder.run("migrate", "status")).code).toBe(5);
    expect(await folder.run("migrate")).toMatchObject({ code: 0, stdout: expect.stringContaining("status") });
    expect((await folder.run("migrate", "status")).code).toBe(0);
    expect((await folder.run("list")).code).toBe(0);
  });
});

describe("an address of MongoDB", () => {
  it("of an empty database gets its collections from migrate, with a prefix of their own", async () => {
    const url = await mongodbUrl(`leasehold_cli_${process.pid}`);
    const folder = createFolder({ LEASEHOLD_STORE: url });
    expect(await folder.run("list")).toMatchObject({ code: 4, stderr: expect.stringContaining("migrate") });
    expect((await folder.run("migrate", "--table-prefix", "shop_")).code).toBe(0);
    expect((await folder.run("list", "--table-prefix", "shop_")).code).toBe(0);
    const client = new MongoClient(url);
    const names = (await client.db().listCollections().toArray()).map(({ name }) => name);
    expect(names.every((name) => name.startsWith("shop_"))).toBe(true);
    await client.db().dropDatabase();
    await client.close();
    folder.remove();
  });

  it("the quick start for MongoDB does what its README says", async () => {
    const url = await mongodbUrl(`leasehold_quickstart_${process.pid}`);
    const folder = createFolder({ DATABASE_URL: url });
    for (const file of ["worker.js", "start-job.js"]) folder.copy("examples/quickstart-mongodb", file);
    expect((await folder.run("migrate")).code).toBe(0);
    const worker = folder.start(["worker", "run", "worker.js"]);
    await worker.waitFor("Worker started");
    const started = await folder.startScript("start-job.js").ended;
    expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello, Ada!") });
    worker.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
    const client = new MongoClient(url);
    expect(await client.db().collection("visitors").countDocuments()).toBe(1);
    await client.db().dropDatabase();
    await client.close();
    folder.remove();
  });

  it("where nobody answers is reported as such, without the password", async () => {
    const folder = createFolder();
    const { code, stdout, stderr } = await folder.run(
      "list",
      "--store",
      "mongodb://ada:hunter2@127.0.0.1:1/shop",
    );
    expect(code).toBe(4);
    expect(stderr).toContain("Check that the server runs");
    expect(stdout + stderr).not.toContain("hunter2");
    folder.remove();
  });
});
