import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { describe, expect, it, vi } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { type RedactRule, type Right, rights } from "../http/rights.ts";
import { clientOf } from "../testing/open-shop.ts";
import { routes } from "./index.ts";
import type { Route } from "./route.ts";

// Every route is called as viewers with all kinds of rights, on a store whose payloads contain these texts. No answer, header, event
// or line of a log may contain a text that the viewer may not see. A new route needs an example below.

/** In every payload. */
const planted = "plantedword";
/** Under keys that look like secrets. */
const underSecretKey = "opensesame";
/** In names and codes of errors, which only a rule hides. */
const inName = "RefusedByName";

interface CorpusTypes {
  parcel: { input: object; output: unknown };
  letter: { input: object; output: unknown };
}

const payload = { note: planted, list: [{ password: underSecretKey }] };

const failOf = (): Error => {
  const named = { name: inName, code: inName };
  const cause = Object.assign(new Error(planted), named);
  return Object.assign(new Error(`Cannot deliver ${planted}`, { cause }), named);
};

const failRecurring = ({ recurring, runInTransaction }: AnyStateAdapter, id: string) =>
  runInTransaction(async (ctx) => {
    const row = (await recurring!.lockRecurring({ ctx, ids: [id] }))[0]!;
    const failure = { since: 0, tries: 3, error: { name: inName, message: planted } };
    const tickHistory = JSON.stringify({ ...(JSON.parse(row.tickHistory) as object), failure });
    await recurring!.advanceRecurring({ ctx, jobs: [{ ...row, tickHistory }] });
  });

/** A failed, a completed, a waiting and a blocked job, a recurring job that fails, and an action whose filter has a key. */
const openCorpus = async (can: readonly Right[], redact?: RedactRule) => {
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<CorpusTypes>();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const start = async (typeName: "parcel" | "letter", to: string, options: object = {}) =>
    leasehold.startJobSequence({
      typeName,
      queue: "vault",
      input: { ...payload, to },
      deduplication: { key: `${planted} ${to}` },
      maxAttempts: 1,
      ...options,
    });
  const failed = await start("parcel", "nowhere");
  // Two jobs with one cause, so that the summary names it.
  await start("parcel", "limbo");
  const completed = await start("letter", "ada");
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "parcel",
      process: async ({ log, reportProgress }) => {
        await reportProgress(payload);
        log(planted, payload);
        throw failOf();
      },
    })
    .implementJobType({ typeName: "letter", process: async () => payload })
    .start({ queues: { vault: 1 }, pollIntervalMs: 20 });
  await expect.poll(async () => (await leasehold.jobs.get({ id: failed.id }))?.status).toBe("failed");
  await expect.poll(async () => (await leasehold.jobs.get({ id: completed.id }))?.status).toBe("completed");
  await worker.stop();
  const waiting = await start("parcel", "eve", { schedule: { afterMs: 3_600_000 } });
  const approval = await start("letter", "approval", { schedule: { afterMs: 3_600_000 } });
  await leasehold.recurring.put({
    id: "nightly",
    everyMs: 3_600_000,
    job: { typeName: "letter", queue: "vault", input: payload },
  });
  await failRecurring(stateAdapter, "nightly");
  const open = (given: readonly Right[]) => {
    const dashboard = createDashboard({
      leasehold,
      stateAdapter,
      authorize: () => ({ user: "grace", can: given }),
      ...(redact && { redact }),
    });
    return { dashboard, ...clientOf(dashboard, "") };
  };
  const all = open(rights);
  const before = (await leasehold.getTime()).toISOString();
  const logged = await all.act("plans/redrive/run", {
    filter: { deduplicationKey: [`${planted} nobody`] },
    before,
  });
  return {
    ...open(can),
    ids: {
      failed: failed.id,
      completed: completed.id,
      waiting: waiting.id,
      approval: approval.id,
      action: logged.body.id as string,
    },
    before,
  };
};

type Ids = Awaited<ReturnType<typeof openCorpus>>["ids"];

interface Example {
  readonly path: string;
  readonly body?: object;
}

/** One request or several for each route, by its path. */
const examples: Readonly<Record<string, (ids: Ids, before: string) => readonly Example[]>> = {
  session: () => [{ path: "session" }],
  backlog: () => [{ path: "backlog" }],
  jobs: () => [
    { path: "jobs" },
    { path: `jobs?inputContains=${planted}` },
    { path: `jobs?inputContains=${underSecretKey}` },
    { path: `jobs?deduplicationKey=${encodeURIComponent(`${planted} nowhere`)}` },
  ],
  "jobs/:id": ({ failed, completed, waiting }) =>
    [failed, completed, waiting].map((id) => ({ path: `jobs/${id}` })),
  "job-types": () => [{ path: "job-types" }],
  start: () => [{ path: "start", body: { typeName: "letter", input: {} } }],
  "jobs/:id/complete": ({ approval }) => [
    { path: `jobs/${approval}/complete`, body: { output: {}, endsSequence: true } },
  ],
  "jobs/:id/edit": ({ waiting }) => [{ path: `jobs/${waiting}/edit`, body: { input: {} } }],
  "trees/:id": ({ failed }) => [{ path: `trees/${failed}` }],
  limits: () => [{ path: "limits" }],
  groups: () => [{ path: "groups?typeName=parcel&queue=vault" }],
  recurring: () => [{ path: "recurring" }],
  "recurring/:id/times": () => [{ path: "recurring/nightly/times" }],
  "recurring-times": () => [{ path: "recurring-times?everyMs=60000" }],
  "recurring/:id/update": () => [
    { path: "recurring/nightly/update", body: { input: {}, jitterMs: 5, expectedVersion: 1 } },
  ],
  causes: () => [{ path: "causes" }],
  processes: () => [{ path: "processes" }],
  summary: () => [{ path: "summary" }],
  statistics: () => [{ path: "statistics" }],
  "time-to-start": () => [{ path: "time-to-start" }],
  doctor: () => [{ path: "doctor" }],
  "doctor/again": () => [{ path: "doctor/again" }],
  "deployments/compare": () => [{ path: "deployments/compare" }],
  actions: () => [{ path: "actions" }],
  "actions/:id": ({ action }) => [{ path: `actions/${action}` }],
  "limits/pause": () => [{ path: "limits/pause", body: { queue: "vault" } }],
  "limits/resume": () => [{ path: "limits/resume", body: { queue: "vault" } }],
  "limits/set": () => [{ path: "limits/set", body: { queue: "vault", concurrency: 5 } }],
  "recurring/:id/pause": () => [{ path: "recurring/nightly/pause", body: {} }],
  "recurring/:id/resume": () => [{ path: "recurring/nightly/resume", body: {} }],
  "recurring/:id/trigger": () => [{ path: "recurring/nightly/trigger", body: {} }],
  ...Object.fromEntries(
    ["redrive", "cancel", "run_now", "delete", "reschedule", "edit"].flatMap((kind) => {
      const more = {
        ...(kind === "reschedule" && { schedule: { afterMs: 60_000 } }),
        ...(kind === "edit" && { changes: [{ path: ["note"], value: "changed" }] }),
      };
      const idsOf = ({ failed, waiting }: Ids) => (kind === "redrive" ? [failed] : [waiting]);
      return [
        [`plans/${kind}`, (ids: Ids) => [{ path: `plans/${kind}`, body: { ids: idsOf(ids), ...more } }]],
        [
          `plans/${kind}/run`,
          (ids: Ids, before: string) => [
            { path: `plans/${kind}/run`, body: { ids: idsOf(ids), before, confirm: 0, ...more } },
          ],
        ],
        ...["stop", "resume"].map((verb) => [
          `plans/${kind}/${verb}/:id`,
          ({ action }: Ids) => [{ path: `plans/${kind}/${verb}/${action}`, body: {} }],
        ]),
      ];
    }),
  ),
};

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** All that the viewer receives: status, headers and body of each example, and the first event of each topic. */
const collect = async ({ ask, ids, before }: Awaited<ReturnType<typeof openCorpus>>) => {
  const received: { readonly of: string; readonly status: number; readonly text: string }[] = [];
  // Reads first: actions change what there is to read.
  for (const route of routes.toSorted((a, b) => (a.method < b.method ? -1 : a.method > b.method ? 1 : 0)))
    for (const { path, body } of examples[route.path]!(ids, before)) {
      const init = {
        method: route.method,
        headers: { "content-type": "application/json", "x-leasehold": "1" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      const { status, headers, body: answer } = await ask(`api/v1/${path}`, init);
      const text = JSON.stringify([[...headers], answer]);
      received.push({ of: `${route.method} ${path}`, status, text });
    }
  return received;
};

const readEvents = async ({ dashboard }: Awaited<ReturnType<typeof openCorpus>>) => {
  const topics = routes.filter(({ isTopic }) => isTopic).map(({ path }) => path);
  const query = topics.map((topic) => `topic=${topic}`).join("&");
  const { body } = await dashboard.fetch(new Request(`http://localhost/api/v1/events?${query}`));
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!topics.every((topic) => text.includes(`event: ${topic}\n`))) text += (await reader.read()).value;
  await reader.cancel();
  return { of: "events", status: 200, text };
};

const withoutPayloads = rights.filter((right) => right !== "payloads");

const hideVault: RedactRule = ({ job }) => job.queue === "vault";

it("has an example for every route", () => {
  expect(routes.map(nameOf).filter((name) => !Object.hasOwn(examples, name.split(" ")[1]!))).toEqual([]);
});

describe.each<{
  readonly name: string;
  readonly can: readonly Right[];
  readonly redact?: RedactRule;
  readonly hidden: readonly string[];
}>([
  ...withoutPayloads.map((right) => ({
    name: `the right ${right} only`,
    can: [...new Set<Right>(["read", right])],
    hidden: [planted, underSecretKey],
  })),
  { name: "all rights but payloads", can: withoutPayloads, hidden: [planted, underSecretKey] },
  { name: "all rights", can: rights, hidden: [underSecretKey] },
  {
    name: "all rights and a rule",
    can: rights,
    redact: hideVault,
    hidden: [planted, underSecretKey, inName],
  },
  {
    name: "all rights but payloads, and a rule",
    can: withoutPayloads,
    redact: hideVault,
    hidden: [planted, underSecretKey, inName],
  },
])("a viewer with $name", ({ can, redact, hidden }) => {
  it("receives nothing that they may not see", async () => {
    const logs = (["log", "info", "warn", "error"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => undefined),
    );
    const corpus = await openCorpus(can, redact);
    const received = [...(await collect(corpus)), await readEvents(corpus)];
    const lines = JSON.stringify(logs.flatMap(({ mock }) => mock.calls));
    vi.restoreAllMocks();
    for (const text of hidden) {
      const leaks = received.filter((one) => one.text.includes(text)).map(({ of }) => of);
      expect(leaks, text).toEqual([]);
      expect(lines).not.toContain(text);
    }
    await corpus.dashboard.close();
  });
});

it("shows a viewer with the right to payloads what the others do not see", async () => {
  const corpus = await openCorpus(rights);
  const received = await collect(corpus);
  const showing = (text: string): string[] => [
    ...new Set(
      received
        .filter((one) => one.status === 200 && one.text.includes(text))
        .map(({ of }) => of.split("?")[0]!),
    ),
  ];
  const { failed, completed, waiting, action } = corpus.ids;
  expect(showing(planted)).toEqual([
    "GET jobs",
    ...[failed, completed, waiting].map((id) => `GET jobs/${id}`),
    "GET actions",
    `GET actions/${action}`,
    "GET recurring",
    "GET causes",
  ]);
  expect(showing(inName)).toContain("GET summary");
  // Every route has answered at least once, but those that stop or resume an action that is done.
  const refused = received.filter(({ status, of }) => status !== 200 && !/stop|resume/.test(of));
  expect(refused.map(({ of, status }) => `${of} ${status}`)).toEqual([]);
  await corpus.dashboard.close();
});
