import type { RecurringJob } from "leasehold";
import { recurringPage } from "../answers/jobs.ts";
import { boolean, date, listOf, nullable, number, objectOf, text as textAnswer } from "../answers/schemas.ts";
import { HttpError, notFound } from "../http/errors.ts";
import { type Answer, anything, type Fields, optional, text, whole } from "../http/fields.ts";
import { toJson } from "../http/leasehold.ts";
import { restoreHidden } from "../http/restore-hidden.ts";
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

const changedRecurringJob = objectOf({ id: textAnswer, version: number, paused: boolean });

const viewChanged = ({ id, version, paused }: Pick<RecurringJob<string>, "id" | "version" | "paused">) => ({
  id,
  version,
  paused,
});

const nextTimes = objectOf({ times: listOf(objectOf({ at: date, local: textAnswer })) });

export const previewRecurring: Route = get({
  path: "recurring/:id/times",
  needs: "read",
  summary: "The next times of a recurring job.",
  answer: nextTimes,
  handle: async ({ leasehold }, { params }) => ({
    times: toJson([...(await leasehold.recurring.preview({ id: params["id"]!, count: 10 }))]),
  }),
});

interface TimesBody {
  readonly cron: string | undefined;
  readonly timeZone: string | undefined;
  readonly everyMs: number | undefined;
}

// Core checks the bounds of each.
const milliseconds = whole({ min: 0, max: Number.MAX_SAFE_INTEGER });

const timesFields: Fields<TimesBody> = {
  cron: optional(text()),
  timeZone: optional(text()),
  everyMs: optional(milliseconds),
};

export const previewTimes: Route = get({
  path: "recurring-times",
  needs: "read",
  summary: "The next times of a cron expression or an interval. Nothing is stored.",
  query: timesFields,
  answer: nextTimes,
  handle: async ({ leasehold }, { query }) => ({
    times: toJson([...(await leasehold.recurring.preview({ ...query, count: 5 } as never))]),
  }),
});

interface UpdateBody extends TimesBody {
  readonly overlap: string | undefined;
  readonly catchUp: string | undefined;
  readonly catchUpWindowMs: number | undefined;
  readonly jitterMs: number | undefined;
  readonly input: unknown;
  readonly expectedVersion: number;
}

const updateFields: Fields<UpdateBody> = {
  ...timesFields,
  overlap: optional(text()),
  catchUp: optional(text()),
  catchUpWindowMs: optional(milliseconds),
  jitterMs: optional(milliseconds),
  input: optional(anything),
  expectedVersion: whole({ min: 0, max: Number.MAX_SAFE_INTEGER }),
};

export const updateRecurring: Route = post({
  path: "recurring/:id/update",
  needs: "limits",
  summary: "Changes what is named of a recurring job and leaves the rest.",
  body: updateFields,
  answer: changedRecurringJob,
  handle: async (services, { params, body, viewer }) => {
    const { recurring } = services.leasehold;
    const id = params["id"]!;
    const { input, ...change } = body;
    if (input !== undefined && !viewer.can.has("payloads"))
      throw new HttpError(403, "forbidden", 'To change an input needs the right "payloads", too.');
    // The log has the change without the input.
    const logged = { id, ...change, ...(input !== undefined && { changesInput: true }) };
    return services.actions.record(viewer.user, "recurring_update", logged, async () => {
      if (input === undefined) return viewChanged(await recurring.update({ id, ...change } as never));
      const before = await recurring.get({ id });
      if (before === undefined) throw notFound("such recurring job");
      const { typeName, queue, input: stored } = before.job;
      const shown = services.redact.payload(viewer, { id, typeName, queue }, "input", stored);
      const restored = restoreHidden(input, shown, stored);
      return viewChanged(await recurring.update({ id, ...change, input: restored } as never));
    });
  },
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
