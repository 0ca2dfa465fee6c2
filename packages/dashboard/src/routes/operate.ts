import { type AnyJob, type JobTypeDescription, replaceInput } from "leasehold";
import { actionQueue } from "leasehold/adapter";
import { jobTypes } from "../answers/jobs.ts";
import { boolean, nullable, objectOf as object, text as textAnswer } from "../answers/schemas.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import { anything, flag, type Fields, objectOf, optional, text, timestamp, whole } from "../http/fields.ts";
import { restoreHidden } from "../http/restore-hidden.ts";
import type { Right, Viewer } from "../http/rights.ts";
import { requireJob } from "./jobs.ts";
import { get, post, type Route, type Services } from "./route.ts";

const requireRight = ({ can }: Viewer, right: Right): void => {
  if (!can.has(right)) throw new HttpError(403, "forbidden", `This needs the right "${right}", too.`);
};

const wrongStatus = ({ status }: AnyJob, what: string): HttpError =>
  new HttpError(409, "wrong_status", `A job that is ${status} cannot be ${what}.`, {
    hint: "Read it again: it has changed.",
  });

/** The log of actions is not changed here. */
const requireOwnJob = async (services: Services, id: string): Promise<AnyJob> => {
  const job = await requireJob(services, id);
  if (job.queue === actionQueue) throw wrongStatus(job, "changed: it is part of the log of actions");
  return job;
};

const listJobTypes = get({
  path: "job-types",
  needs: "read",
  summary: "The job types that the program of this dashboard has defined, with their schemas.",
  answer: jobTypes,
  handle: async (services) => ({ jobTypes: [...services.jobTypes.values()] }),
});

interface NextBody {
  readonly typeName: string;
  readonly input: unknown;
}

/** The types of job types that are not known here have no continuations. */
interface Step {
  continueWith(next: NextBody): Promise<unknown>;
}

interface CompleteBody {
  readonly output: unknown;
  readonly continueWith: NextBody | undefined;
  readonly endsSequence: boolean | undefined;
  readonly note: string | undefined;
}

const completeFields: Fields<CompleteBody> = {
  output: optional(anything),
  continueWith: optional(objectOf<NextBody>({ typeName: text(), input: optional(anything) })),
  endsSequence: optional(flag),
  note: optional(text({ max: 500 })),
};

/** A sequence that may continue must not end because this process does not know its types. */
const requireKnownEnd = (
  { typeName }: AnyJob,
  type: JobTypeDescription | undefined,
  { continueWith, endsSequence }: CompleteBody,
): void => {
  if (continueWith !== undefined || endsSequence === true || (type?.continuesTo ?? null) !== null) return;
  throw new HttpError(
    409,
    "continuations_unknown",
    `Whether ${typeName} is to be followed by another job is not known here.`,
    { hint: "Pass continueWith, or endsSequence if nothing follows." },
  );
};

const completeJob = post({
  path: "jobs/:id/complete",
  needs: "complete",
  summary:
    "Completes a waiting job without a worker: with an output, or with the job that continues its sequence.",
  body: completeFields,
  answer: object({ id: textAnswer, continuedToId: nullable(textAnswer) }),
  handle: async (services, { params, body, viewer }) => {
    const { leasehold, actions } = services;
    const { output, continueWith, note } = body;
    if ((output === undefined) === (continueWith === undefined))
      throw badRequest('Either "output" or "continueWith" is needed.', "An output may be null.");
    const job = await requireOwnJob(services, params["id"]!);
    if (job.status !== "pending" && job.status !== "blocked") throw wrongStatus(job, "completed here");
    requireKnownEnd(job, services.jobTypes.get(job.typeName), body);
    const { id, typeName } = job;
    const logged = {
      id,
      typeName,
      ...(continueWith && { continueWith: continueWith.typeName }),
      ...(note !== undefined && { note }),
    };
    return actions.record(viewer.user, "complete", logged, async () => {
      await leasehold.completeJobSequence({
        id: job.sequenceId,
        typeName: job.sequenceTypeName,
        complete: async ({ job: current, complete }) => {
          if (current.id !== id)
            throw new HttpError(409, "not_current", "Its sequence has continued meanwhile.");
          // A worker has just taken it.
          if (current.status === "running") throw wrongStatus(current, "completed here");
          await complete(current, async (step) =>
            continueWith === undefined
              ? output
              : (step as Step).continueWith({ ...continueWith, input: continueWith.input ?? null }),
          );
        },
      });
      const after = await leasehold.jobs.get({ id });
      return { id, continuedToId: after?.status === "completed" ? after.continuedToId : null };
    });
  },
});

const editFields: Fields<{ readonly input: unknown }> = { input: anything };

const editJob = post({
  path: "jobs/:id/edit",
  needs: "update",
  summary: "Gives a waiting job another input, or runs a failed one again with another input.",
  body: editFields,
  answer: object({ id: textAnswer, isRedriven: boolean }),
  handle: async (services, { params, body, viewer }) => {
    const { redact, leasehold, actions } = services;
    const job = await requireOwnJob(services, params["id"]!);
    const { id, typeName, status } = job;
    requireRight(viewer, "payloads");
    if (status === "running" || status === "completed") throw wrongStatus(job, "edited");
    if (status === "failed") requireRight(viewer, "redrive");
    const shown = redact.payload(viewer, job, "input", job.input);
    const input = restoreHidden(body.input, shown, job.input);
    // The log does not contain the input, which readers without the right to payloads must not see.
    return actions.record(viewer.user, "edit", { id, typeName }, async () => {
      const refusal = await replaceInput(leasehold, job, input);
      if (refusal !== undefined)
        throw new HttpError(409, refusal, `The job was left as it is: ${refusal.replaceAll("_", " ")}.`);
      return { id, isRedriven: status === "failed" };
    });
  },
});

interface StartBody extends NextBody {
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly group: string | undefined;
  readonly at: Date | undefined;
  readonly key: string | undefined;
}

const largestPriority = 2 ** 31 - 1;

const startFields: Fields<StartBody> = {
  typeName: text(),
  input: optional(anything),
  queue: optional(text()),
  priority: optional(whole({ min: -largestPriority, max: largestPriority })),
  group: optional(text()),
  at: optional(timestamp),
  key: optional(text()),
};

const startJob = post({
  path: "start",
  needs: "start",
  summary: "Starts a job sequence.",
  body: startFields,
  answer: object({ id: textAnswer, deduplicated: boolean }),
  handle: async ({ leasehold, actions }, { body, viewer }) => {
    const { typeName, input, queue, priority, group, at, key } = body;
    type Started = { readonly id: string; readonly deduplicated: boolean };
    const logged = (started: Started | undefined) => ({ typeName, ...(started && { id: started.id }) });
    return actions.record(viewer.user, "start", logged, async () => {
      const { id, deduplicated } = await leasehold.startJobSequence({
        typeName,
        input: input ?? null,
        queue,
        priority,
        group,
        ...(at && { schedule: { at } }),
        ...(key !== undefined && { deduplication: { key } }),
      });
      return { id, deduplicated };
    });
  },
});

export const operateRoutes: readonly Route[] = [listJobTypes, startJob, completeJob, editJob];
