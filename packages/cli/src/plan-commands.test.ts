import { createDashboard } from "@leasehold/dashboard";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { createProgram } from "./program.ts";

// The page shows what to type for the same as a plan.

const openApi = async () => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<object>() });
  const can = ["read", "payloads", "redrive", "cancel", "update", "delete"] as const;
  const { fetch } = createDashboard({ leasehold, stateAdapter, authorize: () => ({ user: "ada", can }) });
  const ask = async <T>(path: string, body?: unknown): Promise<T> => {
    const headers = { "content-type": "application/json", "x-leasehold": "1" };
    const init = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(new Request(`http://localhost/api/${path}`, init))).json()) as T;
  };
  const { paths } = await ask<{ paths: object }>("openapi.json");
  const kinds = Object.keys(paths).flatMap((path) => /^\/plans\/(\w+)$/.exec(path)?.[1] ?? []);
  return { ask, kinds };
};

/** As a shell splits it. */
const wordsOf = (command: string): string[] =>
  execFileSync("sh", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

const parse = async (command: string): Promise<Record<string, unknown>> => {
  const [name, ...words] = wordsOf(command);
  expect(name).toBe("leasehold");
  let isRun = false;
  const program = createProgram(() => async () => {
    isRun = true;
  });
  program.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(words, { from: "user" });
  expect(isRun).toBe(true);
  const [first, second] = words;
  const parent = program.commands.find((candidate) => candidate.name() === first)!;
  const found = parent.commands.find((candidate) => candidate.name() === second) ?? parent;
  return { ...found.opts<Record<string, unknown>>(), args: found.args };
};

const odd = `it's "$HOME"; \`ls\` --yes`;

const at = "2040-01-02T03:04:05.678Z";

const filters: Record<string, [filter: Record<string, unknown>, options: Record<string, unknown>]> = {
  "of everything": [{}, { all: true }],
  "by queue and type": [
    { queue: ["a", odd], typeName: ["--all"], sequenceTypeName: ["x"] },
    { queue: ["a", odd], type: ["--all"], sequenceType: ["x"] },
  ],
  "by key, cause, worker and tree": [
    { deduplicationKey: ["a,b", odd], fingerprint: ["f"], leasedBy: ["w,1"], rootSequenceId: "r" },
    { key: ["a,b", odd], cause: ["f"], worker: ["w,1"], root: "r" },
  ],
  "by time": [
    {
      createdFrom: at,
      createdBefore: at,
      scheduledFrom: at,
      scheduledBefore: at,
      finishedFrom: at,
      finishedBefore: at,
    },
    {
      createdAfter: new Date(at),
      createdBefore: new Date(at),
      scheduledAfter: new Date(at),
      scheduledBefore: new Date(at),
      finishedAfter: new Date(at),
      finishedBefore: new Date(at),
    },
  ],
};

/** What some kinds of plans need besides the jobs. */
const extras: Record<string, object> = {
  reschedule: { schedule: { at } },
  edit: { changes: [{ path: ["to"], value: odd }] },
};

it.each(Object.entries(filters))("prints commands that choose the same jobs %s", async (_name, choice) => {
  const [filter, options] = choice;
  const { ask, kinds } = await openApi();
  expect(kinds.length).toBeGreaterThan(3);
  for (const kind of kinds) {
    const { command } = await ask<{ command: string }>(`v1/plans/${kind}`, { filter, ...extras[kind] });
    expect(await parse(command), command).toMatchObject({ ...options, args: [], dryRun: true });
  }
});

it("prints commands that name the same jobs", async () => {
  const { ask, kinds } = await openApi();
  for (const ids of [
    ["one", "two"],
    ["--all", odd],
  ]) {
    for (const kind of kinds) {
      const { command } = await ask<{ command: string }>(`v1/plans/${kind}`, { ids, ...extras[kind] });
      const { args, ...options } = await parse(command);
      expect(args, command).toEqual(ids);
      expect(options, command).toMatchObject({ dryRun: true });
      expect(options, command).not.toHaveProperty("all");
    }
  }
});

it("prints none where the command line would choose other jobs", async () => {
  const { ask } = await openApi();
  const commandOf = async (kind: string, choice: object): Promise<unknown> =>
    (await ask<{ command: unknown }>(`v1/plans/${kind}`, choice)).command;
  // Commas separate queues there, and a reason is something else for `cancel`.
  expect(await commandOf("redrive", { filter: { queue: ["a,b"] } })).toBeNull();
  expect(await commandOf("cancel", { filter: { failureReason: ["cancelled"] } })).toBeNull();
  expect(await commandOf("redrive", { filter: { failureReason: ["cancelled"] } })).toMatch(/--reason/);
  expect(await commandOf("redrive", { ids: Array.from({ length: 21 }, (_, n) => `job-${n}`) })).toBeNull();
});

it("prints when jobs are to run", async () => {
  const { ask } = await openApi();
  const optionsOf = async (schedule: object): Promise<Record<string, unknown>> => {
    const { command } = await ask<{ command: string }>("v1/plans/reschedule", { filter: {}, schedule });
    return parse(command);
  };
  expect(await optionsOf({ at })).toMatchObject({ at: { at: new Date(at) } });
  expect(await optionsOf({ afterMs: 90_000 })).toMatchObject({ at: { afterMs: 90_000 } });
});
