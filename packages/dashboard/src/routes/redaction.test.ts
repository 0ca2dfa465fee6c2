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
