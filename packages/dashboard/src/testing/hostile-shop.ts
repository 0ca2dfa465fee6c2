import { createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { expect } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { specialNames } from "./hostile-texts.ts";
import { postHeaders } from "./open-shop.ts";

interface HostileTypes {
  [typeName: string]: { input: unknown; output: unknown };
}

interface HostileOptions {
  readonly texts: readonly string[];
  /** Characters in the longest text. */
  readonly longest: number;
  /** False for stores whose ids are UUIDs. */
  readonly hasFreeIds: boolean;
}

const deep = (levels: number, text: string): unknown => {
  let value: unknown = text;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { [text]: value };
  return value;
};

/** An object with this key of its own, whatever the key means otherwise. */
const withKey = (key: string, value: unknown): object => Object.fromEntries([[key, value]]);

const payloadOf = (text: string): unknown => ({
  ...withKey(text, text),
  list: [text, { [text]: [text] }],
  special: specialNames.map((name) => withKey(name, text)),
  nul: `\0${text}\0`,
  lone: `\ud800${text}`,
});

const errorOf = (text: string, all: string): Error => {
  const cause = Object.assign(new Error(all), { name: text, code: text });
  const error = Object.assign(new Error(`${text}\n${all}`, { cause }), { name: text, code: text });
  error.stack = `${text}\n    at ${text} (/app/${text}:1:1)\n    at x (node_modules/${text}:1:1)`;
  return error;
};

/** Each text in every field that a page shows. Returns the ids of the jobs, one for each text. */
export const openHostileShop = async (
  stateAdapter: AnyStateAdapter,
  { texts, longest, hasFreeIds }: HostileOptions,
) => {
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<HostileTypes>(),
    // The usual one refuses some of this before it is stored.
    codec: {
      name: "plain",
      encode: (value) => JSON.stringify(value),
      decode: (text) => JSON.parse(text) as unknown,
    },
    deployment: texts[0]!,
    maxPayloadBytes: 8 * 1_024 * 1_024,
  });
  let user = texts[0]!;
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    // Headers hold no such text, so who asks is said here.
    authorize: () => ({ user, can: rights }),
    environment: { label: texts[1]!, tone: "danger" },
    traceUrl: () => "javascript:window.wasHere=1",
  });
  const act = async (asked: string, path: string, body: object): Promise<void> => {
    user = asked;
    const init = { method: "POST", headers: postHeaders, body: JSON.stringify(body) };
    const { status } = await dashboard.fetch(new Request(`http://localhost/api/v1/${path}`, init));
    expect(status, path).toBe(200);
  };
  const all = texts.join("\n");
  const worker = leasehold.createWorker();
  for (const text of texts)
    worker.implementJobType({
      typeName: text,
      process: async ({ reportProgress, log }) => {
        await reportProgress(payloadOf(text));
        log(text, payloadOf(text));
        throw errorOf(text, all);
      },
    });
  const ids: string[] = [];
  for (const text of texts) {
    const { id } = await leasehold.startJobSequence({
      typeName: text,
      queue: text,
      group: text,
      input: { all: texts.map(payloadOf), deep: deep(200, text), long: text.repeat(longest / text.length) },
      maxAttempts: 1,
      deduplication: { key: text },
      ...(hasFreeIds && { id: text }),
    });
    ids.push(id);
    await leasehold.recurring.put({ id: text, everyMs: 3_600_000, job: { typeName: text, input: text } });
    await leasehold.limits.set({ queue: text, concurrency: 3 });
    await act(text, "limits/pause", { queue: text, typeName: text });
    await act(text, "limits/resume", { queue: text, typeName: text });
    await stateAdapter.history?.writeReport({
      reporter: {
        id: text,
        deployment: text,
        startedAt: Date.now(),
        info: JSON.stringify({
          host: text,
          pid: 1,
          node: text,
          leasehold: text,
          workers: [
            {
              id: text,
              queues: [{ name: text, concurrency: 1 }],
              typeNames: [text],
              concurrency: 1,
              running: 1,
            },
          ],
        }),
      },
      buckets: [],
      causes: [],
      maxAgeMs: 90_000,
    });
  }
  const running = await worker.start({
    workerId: texts[0]!,
    pollIntervalMs: 20,
    queues: Object.fromEntries(texts.map((text) => [text, 1])),
  });
  await expect
    .poll(async () => (await leasehold.jobs.list({ status: "failed", limit: 100 })).jobs.length, {
      timeout: 30_000,
    })
    .toBe(texts.length);
  await running.stop();
  return { dashboard, leasehold, ids };
};
