import type { FlowRule, RecurringJob } from "../answers.ts";
import { type Field, type Fields, objectOf, optional, orNull, text, whole } from "../server/fields.ts";
import { type Route, get, post } from "../server/route.ts";
import type { Services } from "../server/services.ts";
import { date, listOfSchema, nullable, objectSchema, opaque, text as textSchema } from "./answers.ts";

/** What JSON makes of a value: dates become text. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer TItem)[]
    ? readonly Json<TItem>[]
    : T extends object
      ? { readonly [TKey in keyof T]: Json<T[TKey]> }
      : T;

/** The same with dates as text. */
const toJson = <T extends object>(value: T): Json<T> => JSON.parse(JSON.stringify(value)) as Json<T>;

interface Scope {
  readonly queue: string | undefined;
  readonly typeName: string | undefined;
}

const scopeFields: Fields<Scope> = { queue: optional(text()), typeName: optional(text()) };

/** Logged like every action: before it happens, and with what came of it. */
const logged = async (
  { actions }: Services,
  user: string,
  kind: string,
  plan: object,
  work: () => Promise<object>,
): Promise<object> => {
  const id = await actions.begin(user, kind, plan);
  try {
    const result = toJson(await work());
    await actions.update(id, user, kind, { state: "done", result });
    return result;
  } catch (error) {
    await actions.update(id, user, kind, { state: "failed" }).catch(() => undefined);
    throw error;
  }
};

const listFlow = get({
  path: "flow",
  needs: "read",
  summary: "Limits, rates and pauses, with what is in use of them.",
  query: { queue: optional(text()) },
  answer: objectSchema<{ readonly rules: readonly FlowRule[] }>({ rules: listOfSchema(opaque<FlowRule>()) }),
  handle: async ({ leasehold }, { query }) => ({ rules: toJson([...(await leasehold.getFlow(query))]) }),
});

const listGroups = get({
  path: "groups",
  needs: "read",
  summary: "The groups of a type that wait or run.",
  query: { typeName: text(), queue: optional(text()) },
  answer: objectSchema<{ readonly groups: readonly object[] }>({ groups: listOfSchema(opaque()) }),
  handle: async ({ leasehold }, { query }) => ({ groups: toJson([...(await leasehold.listGroups(query))]) }),
});

const pauseRoute = (kind: "pause" | "resume"): Route =>
  post({
    path: `flow/${kind}`,
    needs: "flow",
    summary: kind === "pause" ? "Starts no more jobs of a queue or type." : "Ends a pause.",
    body: scopeFields,
    answer: opaque(),
    handle: (services, { body, viewer }) =>
      logged(services, viewer.user, kind, body, () => services.leasehold[kind](body as never)),
  });

interface RateBody {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number | undefined;
}

interface LimitsBody {
  readonly concurrency: number | null | undefined;
  readonly rate: RateBody | null | undefined;
}

interface SetFlowBody extends Scope, LimitsBody {
  readonly perGroup: LimitsBody | null | undefined;
  readonly expectedVersion: number | undefined;
}

// Core knows the bounds of each. These keep numbers whole and exact.
const limit: Field<number> = whole({ min: 1, max: 2 ** 31 - 1 });
const rateFields: Fields<RateBody> = {
  limit,
  perMs: whole({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  burst: optional(limit),
};
const limitsFields: Fields<LimitsBody> = {
  concurrency: optional(orNull(limit)),
  rate: optional(orNull(objectOf(rateFields))),
};
const setFlowFields: Fields<SetFlowBody> = {
  ...scopeFields,
  ...limitsFields,
  perGroup: optional(orNull(objectOf(limitsFields))),
  expectedVersion: optional(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })),
};

const setFlow = post({
  path: "flow/set",
  needs: "flow",
  summary: "Changes the limits of a queue or type: what is named changes, and null removes it.",
  body: setFlowFields,
  answer: opaque(),
  handle: (services, { body, viewer }) =>
    logged(services, viewer.user, "set_limits", body, () => services.leasehold.setFlow(body as never)),
});

const listRecurring = get({
  path: "recurring",
  needs: "read",
  summary: "Recurring jobs, in the order of their ids.",
  query: { cursor: optional(text({ max: 2_000 })), owner: optional(text()) },
  answer: objectSchema<{ readonly recurringJobs: readonly RecurringJob[]; readonly cursor: string | null }>({
    recurringJobs: listOfSchema(opaque<RecurringJob>()),
    cursor: nullable(textSchema),
  }),
  handle: async ({ leasehold, redact }, { query, viewer }) => {
    const { recurringJobs, cursor } = await leasehold.listRecurringJobs({ ...query, limit: 100 });
    return {
      recurringJobs: recurringJobs.map((recurring) => {
        const { job, ...rest } = recurring;
        const place = { id: recurring.id, typeName: job.typeName, queue: "" };
        return toJson({ ...rest, job: { ...job, input: redact.payload(viewer, place, "input", job.input) } });
      }),
      cursor,
    };
  },
});

const previewRecurring = get({
  path: "recurring/:id/times",
  needs: "read",
  summary: "The next times of a recurring job.",
  answer: objectSchema<{ readonly times: readonly { readonly at: string; readonly local: string }[] }>({
    times: listOfSchema(objectSchema({ at: date, local: textSchema })),
  }),
  handle: async ({ leasehold }, { params }) => ({
    times: toJson([...(await leasehold.previewRecurringJob({ id: params["id"]!, count: 10 }))]),
  }),
});

const recurringAction = (
  kind: "pause" | "resume" | "trigger",
  act: (services: Services, id: string) => Promise<object>,
): Route =>
  post({
    path: `recurring/:id/${kind}`,
    needs: "flow",
    summary: `Lets somebody ${kind} a recurring job.`,
    body: {} as Fields<object>,
    answer: opaque(),
    handle: (services, { params, viewer }) =>
      logged(services, viewer.user, `recurring_${kind}`, { id: params["id"] }, () =>
        act(services, params["id"]!),
      ),
  });

export const flowRoutes: readonly Route[] = [
  listFlow,
  listGroups,
  pauseRoute("pause"),
  pauseRoute("resume"),
  setFlow,
  listRecurring,
  previewRecurring,
  recurringAction("pause", ({ leasehold }, id) => leasehold.pauseRecurringJob({ id })),
  recurringAction("resume", ({ leasehold }, id) => leasehold.resumeRecurringJob({ id })),
  recurringAction("trigger", ({ leasehold }, id) => leasehold.triggerRecurringJob({ id })),
];
