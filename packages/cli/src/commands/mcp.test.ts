import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { UnrecoverableJobError } from "leasehold";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { executable } from "../testing/run-cli.ts";
import { openTestStore, stopPostgres, type TestStore } from "../testing/stores.ts";

const secret = "sk-live-very-secret";

describe.each(["sqlite", "postgres"] as const)("leasehold mcp on %s", (kind) => {
  let store: TestStore;
  let client: Client | undefined;
  let failedId: string;

  beforeAll(async () => {
    store = await openTestStore(kind);
    const { leasehold } = store;
    const failed = await leasehold.startJobSequence({
      typeName: "charge",
      input: { order: "order-7", apiKey: secret },
    });
    failedId = failed.id;
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "charge",
        process: async () => {
          throw new UnrecoverableJobError("card declined");
        },
      })
      .start({ pollIntervalMs: 20 });
    await expect(leasehold.waitForJobSequenceCompletion(failed)).rejects.toThrow("Job sequence");
    await worker.stop();
  }, 60_000);

  afterEach(async () => {
    await client?.close();
    client = undefined;
  });

  afterAll(async () => {
    await store.close();
    if (kind === "postgres") await stopPostgres();
  });

  const connect = async (...args: string[]): Promise<Client> => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [executable, "mcp", ...args, "--store", store.address],
      cwd: store.folder.path,
      stderr: "pipe",
    });
    client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    return client;
  };

  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, isError } = await client!.callTool({ name, arguments: given });
    const [{ text }] = content as [{ text: string }];
    expect(text).not.toContain(secret);
    // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
    return isError === true ? { error: text } : (JSON.parse(text) as any);
  };

  it("reads and no more, with secrets hidden", async () => {
    await connect();
    const { tools } = await client!.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "stats",
      "list_jobs",
      "inspect_job",
      "list_causes",
      "doctor",
    ]);
    for (const { annotations } of tools)
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(await call("stats")).toMatchObject({ backlog: { types: [{ typeName: "charge", failed: 1 }] } });
    const { jobs } = await call("list_jobs", { status: ["failed"], typeName: ["charge"] });
    expect(jobs).toMatchObject([{ id: failedId }]);
    expect((await call("inspect_job", { id: failedId })).job.input).toEqual({
      order: "order-7",
      apiKey: { $hidden: expect.any(String) },
    });
    expect(await call("list_causes")).toMatchObject({ causes: [{ message: "card declined", count: 1 }] });
    expect((await call("doctor")).results.length).toBeGreaterThan(3);
    expect((await call("redrive_jobs", { ids: [failedId] })).error).toContain("no tool");
    expect((await call("list_jobs", { type: "charge" })).error).toContain("typeName");
    expect((await call("inspect_job", { id: "00000000-0000-7000-8000-000000000000" })).error).toContain(
      "no job",
    );
  });

  it("hides payloads if told to", async () => {
    await connect("--no-payloads");
    expect((await call("inspect_job", { id: failedId })).job.input).toEqual({ $hidden: expect.any(String) });
    expect((await call("list_jobs", { inputContains: "order-7" })).error).toContain("payloads");
  });

  it("acts with the confirmation of a plan, once", async () => {
    await connect("--allow", "redrive,pause");
    const { tools } = await client!.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["get_action", "redrive_jobs", "pause", "resume"]),
    );
    expect(tools.map(({ name }) => name)).not.toContain("cancel_jobs");
    expect(tools.find(({ name }) => name === "redrive_jobs")?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    });

    const { plan, confirm } = await call("redrive_jobs", { ids: [failedId] });
    expect(plan).toMatchObject({ preview: { changed: 1 } });
    expect((await store.leasehold.jobs.get({ id: failedId }))?.status).toBe("failed");
    expect((await call("redrive_jobs", { confirm: "made-up" })).error).toContain("new plan");
    expect((await call("redrive_jobs", { confirm, ids: ["another"] })).error).toContain("alone");
    expect((await call("pause", { confirm })).error).toContain("new plan");
    const { id } = await call("redrive_jobs", { confirm });
    await expect.poll(async () => (await store.leasehold.jobs.get({ id: failedId }))?.status).toBe("pending");
    expect(await call("get_action", { id })).toMatchObject({ user: "mcp", kind: "redrive" });
    expect((await call("redrive_jobs", { confirm })).error).toContain("new plan");

    const pause = await call("pause", { queue: "default" });
    expect(pause.plan.affected).toMatchObject([{ typeName: "charge" }]);
    await call("pause", { confirm: pause.confirm });
    const paused = async () =>
      (await store.leasehold.limits.list({ queue: "default" })).some((rule) => rule.paused);
    expect(await paused()).toBe(true);
    await call("resume", { confirm: (await call("resume", { queue: "default" })).confirm });
    expect(await paused()).toBe(false);
  });
});
