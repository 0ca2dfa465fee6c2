import { recurringPage } from "../answers/jobs.ts";
import { date, listOf, objectOf, opaque, text as textAnswer } from "../answers/schemas.ts";
import { type Fields, optional, text } from "../http/fields.ts";
import { toJson } from "../http/leasehold.ts";
import { get, post, type Route, type Services } from "./route.ts";

export const listRecurring: Route = get({
  path: "recurring",
  needs: "read",
  summary: "Recurring jobs, in the order of their ids.",
  query: { cursor: optional(text({ max: 2_000 })), owner: optional(text()) },
  answer: recurringPage,
  handle: async ({ leasehold, redact }, { query, viewer }) => {
    const { recurringJobs, cursor } = await leasehold.recurring.list({ ...query, limit: 100 });
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

export const previewRecurring: Route = get({
  path: "recurring/:id/times",
  needs: "read",
  summary: "The next times of a recurring job.",
  answer: objectOf({ times: listOf(objectOf({ at: date, local: textAnswer })) }),
  handle: async ({ leasehold }, { params }) => ({
    times: toJson([...(await leasehold.recurring.preview({ id: params["id"]!, count: 10 }))]),
  }),
});

export const recurringAction = (
  kind: "pause" | "resume" | "trigger",
  act: (services: Services, id: string) => Promise<object>,
): Route =>
  post({
    path: `recurring/:id/${kind}`,
    needs: "limits",
    summary: `${{ pause: "Pauses", resume: "Resumes", trigger: "Runs" }[kind]} a recurring job.`,
    body: {} as Fields<object>,
    answer: opaque(),
    handle: (services, { params, viewer }) =>
      services.actions.record(viewer.user, `recurring_${kind}`, { id: params["id"] }, () =>
        act(services, params["id"]!),
      ),
  });
