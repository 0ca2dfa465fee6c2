import type { Right } from "@leasehold/dashboard";

/** What `--allow` adds to reading. */
export const allowances = ["redrive", "cancel", "pause"] as const;

export type Allowance = (typeof allowances)[number];

/** The right of the dashboard that each of them needs. */
export const rightOf: Readonly<Record<Allowance, Right>> = {
  redrive: "redrive",
  cancel: "cancel",
  pause: "limits",
};

type Arguments = Readonly<Record<string, unknown>>;

/** A request to the API of the dashboard. */
export interface ApiRequest {
  readonly path: string;
  readonly body?: object;
}

export type Call = (request: ApiRequest) => Promise<unknown>;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  /** It only adds or undoes; otherwise an assistant may want to ask first. */
  readonly isDestructive?: boolean;
  /** Absent for tools that read. */
  readonly allowance?: Allowance;
  /** The answer of a tool that reads, or the plan of one that acts. */
  answer(call: Call, given: Arguments): Promise<unknown>;
  /** Does what the plan says. */
  run?(call: Call, given: Arguments, plan: unknown): Promise<unknown>;
}

const names = (description: string): object => ({
  type: "array",
  items: { type: "string" },
  minItems: 1,
  description,
});

const time = (description: string): object => ({ type: "string", format: "date-time", description });

const filters: Readonly<Record<string, object>> = {
  typeName: names("only jobs of these types"),
  queue: names("only jobs of these queues"),
  createdFrom: time("only jobs created since"),
  createdBefore: time("only jobs created before"),
  finishedFrom: time("only jobs finished since"),
  finishedBefore: time("only jobs finished before"),
  fingerprint: {
    type: "string",
    description: "only jobs that failed from this cause, as list_causes names it",
  },
};

const toQuery = (given: Arguments): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given))
    for (const single of Array.isArray(value) ? value : [value]) query.append(name, String(single));
  return query.size === 0 ? "" : `?${query.toString()}`;
};

const readers: readonly Tool[] = [
  {
    name: "stats",
    title: "How the queues are",
    description:
      "The state of all queues: a summary in sentences (what is behind, paused, failing, and since when), and for each queue and type how many jobs wait, run and have failed. Start here.",
    properties: {},
    answer: async (call) => ({
      summary: await call({ path: "summary" }),
      backlog: await call({ path: "backlog" }),
    }),
  },
  {
    name: "list_jobs",
    title: "List jobs",
    description: "Jobs that match a filter, the newest first, a page at a time.",
    properties: {
      ...filters,
      status: {
        type: "array",
        items: { type: "string", enum: ["blocked", "pending", "running", "completed", "failed"] },
        minItems: 1,
      },
      inputContains: { type: "string", description: "only jobs with this text in their input" },
      order: { type: "string", enum: ["newest", "oldest"] },
      limit: { type: "integer", minimum: 1, maximum: 200, description: "default 50" },
      cursor: { type: "string", description: "the cursor of the page before" },
    },
    answer: (call, given) => call({ path: `jobs${toQuery(given)}` }),
  },
  {
    name: "inspect_job",
    title: "Inspect a job",
    description:
      "One job: why it is where it is (what it waits for, what throttles it, why it failed), its input and output, attempts with errors and logs, and the jobs of its sequence.",
    properties: { id: { type: "string" } },
    required: ["id"],
    answer: (call, { id }) => call({ path: `jobs/${encodeURIComponent(String(id))}` }),
  },
  {
    name: "list_causes",
    title: "Causes of failures",
    description:
      "Failed jobs grouped by the error they failed from, with counts, types, the deployment it was first seen in, and an example.",
    properties: {},
    answer: (call) => call({ path: "causes" }),
  },
  {
    name: "doctor",
    title: "Examine the store",
    description:
      "Checks for what slows or stops jobs: clocks, leases, old transactions, indexes, queues. With advice.",
    properties: {},
    answer: (call) => call({ path: "doctor/again" }),
  },
];

const choice: Readonly<Record<string, object>> = {
  ids: names("these jobs; either ids or filter"),
  filter: { type: "object", properties: filters, additionalProperties: false },
};

/** Acts on many jobs by a plan of the dashboard. */
const planned = (kind: "redrive" | "cancel", description: string): Tool => ({
  name: `${kind}_jobs`,
  title: kind === "redrive" ? "Run failed jobs again" : "Cancel jobs",
  description,
  properties: choice,
  isDestructive: true,
  allowance: kind,
  answer: (call, given) => call({ path: `plans/${kind}`, body: given }),
  run: (call, given, plan) => {
    const { before } = plan as { readonly before: string };
    return call({ path: `plans/${kind}/run`, body: { ...given, before } });
  },
});

const scope: Readonly<Record<string, object>> = {
  queue: { type: "string", description: "this queue; either queue or typeName" },
  typeName: { type: "string", description: "this type" },
};

interface Backlog {
  readonly types: readonly { readonly queue: string; readonly typeName: string }[];
}

const pausing = (kind: "pause" | "resume", description: string): Tool => ({
  name: kind,
  title: kind === "pause" ? "Pause a queue or type" : "End a pause",
  description,
  properties: scope,
  isDestructive: false,
  allowance: "pause",
  answer: async (call, given) => {
    const { types } = (await call({ path: "backlog" })) as Backlog;
    const { queue, typeName } = given;
    return {
      [kind]: given,
      affected: types.filter(
        (type) =>
          (queue === undefined || type.queue === queue) &&
          (typeName === undefined || type.typeName === typeName),
      ),
    };
  },
  run: (call, given) => call({ path: `limits/${kind}`, body: given }),
});

const followAction: Tool = {
  name: "get_action",
  title: "How far an action has come",
  description: "The progress and result of an action that a tool has begun.",
  properties: { id: { type: "string" } },
  required: ["id"],
  answer: (call, { id }) => call({ path: `actions/${encodeURIComponent(String(id))}` }),
};

const actors: readonly Tool[] = [
  planned("redrive", "Runs failed jobs again, and what failed because of them."),
  planned("cancel", "Ends unfinished jobs early."),
  pausing("pause", "Workers start no more jobs of a queue or type; running jobs finish."),
  pausing("resume", "Ends the pause of a queue or type."),
];

/** The tools of a server that allows this beyond reading. */
export const toolsFor = (allowed: readonly Allowance[]): readonly Tool[] => [
  ...readers,
  ...(allowed.length > 0 ? [followAction] : []),
  ...actors.filter(({ allowance }) => allowance !== undefined && allowed.includes(allowance)),
];
