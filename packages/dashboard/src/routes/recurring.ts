import type { RecurringJob } from "leasehold";
import { recurringPage } from "../answers/jobs.ts";
import { boolean, date, listOf, nullable, number, objectOf, text as textAnswer } from "../answers/schemas.ts";
import { type Answer, type Fields, optional, text } from "../http/fields.ts";
import { toJson } from "../http/leasehold.ts";
import { viewError } from "./jobs.ts";
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
        const { job, failure, ...rest } = recurring;
        const place = { id: recurring.id, typeName: job.typeName, queue: job.queue };
        // The message of a refused input may quote it.
        const error = failure && viewError({ redact }, viewer, place, failure.error);
        return toJson({
          ...rest,
          failure: failure && { ...failure, error },
          job: { ...job, input: redact.payload(viewer, place, "input", job.input) },
        });
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

/** `act` returns what may be shown to every viewer: never the recurring job itself, which contains an input. */
const recurringAction = <T extends object>(
  kind: "pause" | "resume" | "trigger",
  answer: Answer<T>,
  act: (recurring: Services["leasehold"]["recurring"], id: string) => Promise<T>,
): Route =>
  post({
    path: `recurring/:id/${kind}`,
    needs: "limits",
    summary: `${{ pause: "Pauses", resume: "Resumes", trigger: "Runs" }[kind]} a recurring job.`,
    body: {} as Fields<object>,
    answer,
    handle: (services, { params, viewer }) =>
      services.actions.record(viewer.user, `recurring_${kind}`, { id: params["id"] }, () =>
        act(services.leasehold.recurring, params["id"]!),
      ),
  });

const changedRecurringJob = objectOf({ id: textAnswer, version: number, paused: boolean });

const viewChanged = ({ id, version, paused }: Pick<RecurringJob<string>, "id" | "version" | "paused">) => ({
  id,
  version,
  paused,
});

export const recurringActions: readonly Route[] = [
  recurringAction("pause", changedRecurringJob, async (recurring, id) =>
    viewChanged(await recurring.pause({ id })),
  ),
  recurringAction("resume", changedRecurringJob, async (recurring, id) =>
    viewChanged(await recurring.resume({ id })),
  ),
  recurringAction(
    "trigger",
    objectOf({ result: textAnswer, sequenceId: nullable(textAnswer) }),
    async (recurring, id) => {
      const { result, sequenceId } = await recurring.trigger({ id });
      return { result, sequenceId };
    },
  ),
];
