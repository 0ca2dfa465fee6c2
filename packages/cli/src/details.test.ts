import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failAll } from "./testing/fail-all.ts";
import { createFolder } from "./testing/run-cli.ts";
import { openTestStore, type TestStore } from "./testing/stores.ts";

describe("the command in detail", () => {
  let store: TestStore;
  beforeEach(async () => {
    store = await openTestStore("sqlite");
  });
  afterEach(() => store.close());

  it("pages through a list", async () => {
    await store.leasehold.startJobSequences({
      sequences: Array.from({ length: 5 }, (_, n) => ({ typeName: "page", input: n })),
    });
    const first = await store.json("list", "--limit", "3", "--order", "oldest");
    const rest = await store.json(
      "list",
      "--limit",
      "3",
      "--order",
      "oldest",
      "--cursor",
      first.value.cursor,
    );
    expect(first.value.jobs).toHaveLength(3);
    expect(rest.value.jobs).toHaveLength(2);
    expect(rest.value.cursor).toBeNull();
    const ids = [...first.value.jobs, ...rest.value.jobs].map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(5);
  });

  it("shows what a blocked job waits for, and who waits for a blocker", async () => {
    const { leasehold, folder } = store;
    let blockerId = "";
    const blocked = await leasehold.startJobSequence({
      typeName: "order",
      input: null,
      startBlockers: (async () => {
        const blocker = await leasehold.startJobSequence({ typeName: "payment", input: null });
        blockerId = blocker.id;
        return [blocker];
      }) as never,
    });
    const waiting = await folder.run("inspect", blocked.id);
    expect(waiting.stdout).toContain(`It waits for 1 of 1 blockers: payment ${blockerId} (pending).`);
    const blocker = await folder.run("inspect", blockerId);
    expect(blocker.stdout).toMatch(new RegExp(`Waited for by\\n.*${blocked.id}`));
  });

  it("keeps a tree with unfinished jobs unless forced", async () => {
    const { leasehold, json } = store;
    const parent = await leasehold.startJobSequence({
      typeName: "parent",
      input: null,
      startBlockers: (async () => [
        await leasehold.startJobSequence({ typeName: "child", input: null }),
      ]) as never,
    });
    await leasehold.jobs.cancel({ ids: [parent.id] });
    const kept = await json("failed", "delete", parent.id, "--yes");
    expect(kept.value).toMatchObject({
      deletedJobs: 0,
      skipped: [{ id: parent.id, reason: "unfinished" }],
    });
    const forced = await json("failed", "delete", parent.id, "--yes", "--force");
    expect(forced.value).toMatchObject({ deletedJobs: 2 });
  });

  it("counts jobs", async () => {
    const { leasehold, json, folder } = store;
    await leasehold.startJobSequences({
      sequences: ["a", "a", "b"].map((typeName) => ({ typeName, input: null })),
    });
    await failAll(store, "b");
    const { value } = await json("stats");
    expect(value.total.counts).toEqual({ blocked: 0, pending: 2, running: 0, failed: 1 });
    // The process that ran it tells the store about once a second.
    await expect.poll(async () => (await json("stats")).value.total.lately.failed).toBe(1);
    const shown = await folder.run("stats");
    expect(shown.stdout).toMatch(/default +a +0 +2 +0 +0 +0/);
  });

  it("waits for a job, and fails with it", async () => {
    const { leasehold, folder } = store;
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "double", process: async ({ job }) => Number(job.input) * 2 })
      .implementJobType({
        typeName: "explode",
        maxAttempts: 1,
        process: async () => {
          throw new Error("boom");
        },
      })
      .start({ pollIntervalMs: 20 });
    const doubled = await folder.run("start", "double", "--input", "21", "--wait", "10s");
    expect(doubled).toMatchObject({ code: 0, stdout: "42\n" });
    const exploded = await folder.run("start", "explode", "--wait");
    expect(exploded.code).toBe(5);
    await worker.stop();
  });

  it("deletes the jobs of a measurement that was interrupted", async () => {
    const { folder, leasehold } = store;
    const bench = folder.start(["bench", "--jobs", "1000000", "--batch", "20", "--yes"]);
    while ((await leasehold.jobs.count()).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    bench.kill("SIGINT");
    const { code, stderr } = await bench.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("Interrupted");
    expect(await leasehold.jobs.count()).toEqual([]);
  });
});

describe("the quick start for SQLite", () => {
  it("does what its README says", async () => {
    const folder = createFolder();
    for (const file of ["main.js", "leasehold.config.js"]) folder.copy("examples/quickstart-sqlite", file);
    const ended = await folder.startScript("main.js").ended;
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello, Ada!") });
    const { stdout } = await folder.run("list", "--json");
    expect(JSON.parse(stdout).jobs).toMatchObject([
      { status: "completed", attempt: 2, output: "Hello, Ada!" },
    ]);
    folder.remove();
  });
});
