import { expect, it } from "vitest";
import type { RedactRule } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";

const secret = "ada@example.com";

const putNightly = (leasehold: Awaited<ReturnType<typeof openShop>>["leasehold"]) =>
  leasehold.recurring.put({
    id: "nightly",
    cron: "0 3 * * *",
    timeZone: "UTC",
    job: { typeName: "mail", input: { to: secret }, queue: "letters" },
  });

it("shows no input in the answer to an action on a recurring job, nor in the log of actions", async () => {
  const { leasehold, read, act } = await openShop(["read", "limits"]);
  await putNightly(leasehold);
  for (const [kind, expected] of [
    ["pause", { id: "nightly", version: 2, paused: true }],
    ["resume", { id: "nightly", version: 3, paused: false }],
    ["trigger", { result: "started", sequenceId: expect.any(String) }],
  ] as const) {
    const { status, body } = await act(`recurring/nightly/${kind}`, {});
    expect([status, body]).toEqual([200, expected]);
  }
  const { body } = await read("actions");
  expect(body.actions).toHaveLength(3);
  expect(JSON.stringify(body)).not.toContain(secret);
});

it("asks a redaction rule for the type and the queue of a recurring job", async () => {
  const redact: RedactRule = ({ job, path }) => job.queue === "letters" && path.at(-1) === "to";
  const { leasehold, read } = await openShop(["read", "payloads"], { redact });
  await putNightly(leasehold);
  const { body } = await read("recurring");
  expect(body.recurringJobs).toMatchObject([{ job: { input: { to: { $hidden: expect.any(String) } } } }]);
});

it.each([
  ["of the type", ({ job }: Parameters<RedactRule>[0]) => job.typeName === "order"],
  ["of the queue", ({ job }: Parameters<RedactRule>[0]) => job.queue === "default"],
  ["of no job that failed", ({ job }: Parameters<RedactRule>[0]) => job.typeName === "mail"],
])("asks a redaction rule for the jobs of a cause: %s", async (name, rule) => {
  const redact: RedactRule = (place) => place.field === "error" && rule(place);
  const { leasehold, read, startWorker } = await openShop(["read", "payloads"], { redact });
  await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  const worker = await startWorker();
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  await worker.stop();
  const { body } = await read("causes");
  const hidden = { $hidden: expect.any(String) };
  expect(body.causes).toMatchObject([
    { message: name === "of no job that failed" ? "out of stock" : hidden },
  ]);
});

it("shows what a rule shows, and hides what it leaves to the names of keys", async () => {
  const redact: RedactRule = ({ path }) => {
    if (path.at(-1) === "maxTokens") return "show";
    return path.at(-1) === "item" || undefined;
  };
  const { leasehold, read } = await openShop(["read", "payloads"], { redact });
  const input = { item: "tea", password: "teapot", maxTokens: 100, tokens: { maxTokens: 1, token: "t" } };
  const { id } = await leasehold.startJobSequence({ typeName: "order", input });
  const hidden = { $hidden: expect.any(String) };
  expect((await read(`jobs/${id}`)).body.job.input).toEqual({
    item: hidden,
    password: hidden,
    maxTokens: 100,
    tokens: hidden,
  });
});

it("shows no payload to a viewer without the right, whatever a rule shows", async () => {
  const { leasehold, read } = await openShop(["read"], { redact: () => "show" });
  const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  expect((await read(`jobs/${id}`)).body.job.input).toEqual({ $hidden: "object with 1 fields" });
});

it("hides the stack with the message", async () => {
  const redact: RedactRule = ({ field, path }) => field === "error" && path.at(-1) === "message";
  const { leasehold, read, startWorker } = await openShop(["read", "payloads"], { redact });
  const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  const worker = await startWorker();
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  await worker.stop();
  const { error } = (await read(`jobs/${id}`)).body.job;
  expect(error).toMatchObject({ name: "UnrecoverableJobError", stack: { $hidden: expect.any(String) } });
});

it("explains to every viewer why a job does not run, without its errors", async () => {
  const { leasehold, read } = await openShop(["read"]);
  const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  const { explanation } = (await read(`jobs/${id}`)).body;
  expect(explanation).toMatchObject({
    state: "runnable",
    summary: expect.stringContaining("first in queue"),
  });
  await leasehold.jobs.cancel({ ids: [id], reason: "not for everyone" });
  const failed = (await read(`jobs/${id}`)).body.explanation;
  expect(failed).toMatchObject({ state: "failed" });
  expect(JSON.stringify(failed)).not.toContain("not for everyone");
});

it("hides a value whose rule fails", async () => {
  const redact: RedactRule = () => {
    throw new Error("no such field");
  };
  const { leasehold, read } = await openShop(["read", "payloads"], { redact });
  const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  expect((await read(`jobs/${id}`)).body.job.input).toEqual({ $hidden: "object with 1 fields" });
});
