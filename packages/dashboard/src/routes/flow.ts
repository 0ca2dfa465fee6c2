import { type Fields, optional, text } from "../server/fields.ts";
import { get, post, type Route } from "../server/route.ts";
import type { Services } from "../server/services.ts";
import { listOfSchema, nullable, objectSchema, payload, text as textSchema } from "./answers.ts";

/** The same object with dates as text. */
const toJson = (value: object): unknown => JSON.parse(JSON.stringify(value)) as unknown;

const anyObject = { type: "object" };

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
): Promise<unknown> => {
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
  answer: objectSchema({ rules: listOfSchema(anyObject) }),
  handle: async ({ leasehold }, { query }) => ({ rules: toJson([...(await leasehold.getFlow(query))]) }),
});

const listGroups = get({
  path: "groups",
  needs: "read",
  summary: "The groups of a type that wait or run.",
  query: { typeName: text(), queue: optional(text()) },
  answer: objectSchema({ groups: listOfSchema(anyObject) }),
  handle: async ({ leasehold }, { query }) => ({ groups: toJson([...(await leasehold.listGroups(query))]) }),
});

const pauseRoute = (kind: "pause" | "resume"): Route =>
  post({
    path: `flow/${kind}`,
    needs: "flow",
    summary: kind === "pause" ? "Starts no more jobs of a queue or type." : "Ends a pause.",
    body: scopeFields,
    answer: anyObject,
    handle: (services, { body, viewer }) =>
      logged(services, viewer.user, kind, body, () => services.leasehold[kind](body as never)),
  });

const listRecurring = get({
  path: "recurring",
  needs: "read",
  summary: "Recurring jobs, in the order of their ids.",
  query: { cursor: optional(text({ max: 2_000 })), owner: optional(text()) },
  answer: objectSchema({ recurringJobs: listOfSchema(anyObject), cursor: nullable(textSchema) }),
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
  answer: objectSchema({ times: listOfSchema(payload) }),
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
    answer: anyObject,
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
  listRecurring,
  previewRecurring,
  recurringAction("pause", ({ leasehold }, id) => leasehold.pauseRecurringJob({ id })),
  recurringAction("resume", ({ leasehold }, id) => leasehold.resumeRecurringJob({ id })),
  recurringAction("trigger", ({ leasehold }, id) => leasehold.triggerRecurringJob({ id })),
];
