import type { InputChange, JobStatus } from "leasehold";
import { type Choice, type PlannedAction, plannedActions, type Schedule } from "../actions/action.ts";
import {
  filterFields,
  type JobFilterQuery,
  requireFilterRights,
  statusField,
} from "../actions/job-filter.ts";
import { commandFor, preview } from "../actions/preview.ts";
import {
  type ActionKind,
  actionKinds,
  actionPage,
  loggedAction,
  type LoggedAction,
  plan,
} from "../answers/jobs.ts";
import { boolean, objectOf as object, text as textAnswer } from "../answers/schemas.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import {
  anything,
  type Field,
  type Fields,
  flag,
  listOf,
  timestamp,
  objectOf,
  numberOr,
  optional,
  text,
  whole,
  withDefault,
} from "../http/fields.ts";
import type { Viewer } from "../http/rights.ts";
import { get, post, type Route, type Services } from "./route.ts";

interface ScheduleBody {
  readonly at: Date | undefined;
  readonly afterMs: number | undefined;
}

interface ChoiceBody {
  readonly ids: readonly string[] | undefined;
  readonly filter: JobFilterQuery | undefined;
  readonly status: readonly JobStatus[] | undefined;
  readonly withChildren?: boolean | undefined;
  readonly changes?: readonly InputChange[];
  readonly schedule?: ScheduleBody;
}

interface ActionBody extends ChoiceBody {
  readonly before: Date;
  readonly pace: number | undefined;
  readonly confirm: number | undefined;
  readonly expected: number | undefined;
}

const idsField: Field<readonly string[] | undefined> = optional(listOf(text(), { max: 1_000 }));

const longestScheduleMs = 10 * 365 * 86_400_000;

const scheduleFields: Fields<ScheduleBody> = {
  at: optional(timestamp),
  afterMs: optional(whole({ min: 0, max: longestScheduleMs })),
};

const largestIndex = 1_000_000;

/** The name of a property, or a position in a list. */
const segment: Field<string | number> = numberOr(whole({ min: 0, max: largestIndex }), text({ min: 0 }));

const changeFields: Fields<InputChange> = {
  path: listOf(segment, { max: 32 }),
  value: optional(anything),
};

const choiceFields = ({ isTimed, takesChildren, changesInputs }: PlannedAction): Fields<ChoiceBody> => ({
  ids: idsField,
  filter: optional(objectOf(filterFields)),
  status: statusField,
  ...(changesInputs === true && { changes: listOf(objectOf(changeFields), { max: 100 }) }),
  ...(takesChildren === true && { withChildren: optional(flag) }),
  ...(isTimed === true && { schedule: objectOf(scheduleFields) }),
});

const actionFields = (action: PlannedAction): Fields<ActionBody> => ({
  ...choiceFields(action),
  before: timestamp,
  pace: optional(whole({ min: 1, max: 100_000 })),
  confirm: optional(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })),
  // What the plan counted, for the log and the progress.
  expected: optional(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })),
});

const scheduleFrom = ({ at, afterMs }: ScheduleBody): Schedule => {
  if (at !== undefined && afterMs === undefined) return { at };
  if (at === undefined && afterMs !== undefined) return { afterMs };
  throw badRequest('Either "schedule.at" or "schedule.afterMs" is needed.');
};

const chooseFrom = (
  { takesChildren }: PlannedAction,
  { ids, filter, status, withChildren, changes, schedule }: ChoiceBody,
  before: Date,
): Choice => {
  if ((ids === undefined) === (filter === undefined)) throw badRequest('Either "ids" or "filter" is needed.');
  if (ids !== undefined && status !== undefined && takesChildren !== true)
    throw badRequest('"status" is part of a filter.', 'Leave it out, or pass "filter".');
  return {
    ids,
    filter,
    before,
    ...(status && { status }),
    ...(withChildren === true && { withChildren }),
    ...(changes && { changes }),
    ...(schedule && { schedule: scheduleFrom(schedule) }),
  };
};

const requireRights = ({ can }: Viewer, { alsoNeeds = [] }: PlannedAction): void => {
  const missing = alsoNeeds.find((right) => !can.has(right));
  if (missing !== undefined) throw new HttpError(403, "forbidden", `This needs the right "${missing}", too.`);
};

/** A plan expires: its numbers become outdated. */
const longestPlanMs = 5 * 60_000;

const routesOf = (kind: ActionKind): Route[] => {
  const action = plannedActions[kind];
  const { needs } = action;
  const started = object({ id: textAnswer });
  return [
    post({
      path: `plans/${kind}`,
      needs,
      summary: `What "${kind}" would do, without doing it.`,
      body: choiceFields(action),
      isExpensive: true,
      answer: plan,
      handle: async (services, { body, viewer, signal }) => {
        requireRights(viewer, action);
        requireFilterRights(viewer, body.filter);
        const before = new Date(await services.now());
        const choice = chooseFrom(action, body, before);
        return {
          before: before.toISOString(),
          expiresAt: new Date(before.getTime() + longestPlanMs).toISOString(),
          unit: action.unit,
          needsConfirmation: action.isFinal,
          command: commandFor(action.command, choice),
          preview: await preview(services, action, choice, signal),
        };
      },
    }),
    post({
      path: `plans/${kind}/run`,
      needs,
      summary: `Does what a plan for "${kind}" says. Answers when it has begun.`,
      body: actionFields(action),
      answer: started,
      handle: async (services, { body, viewer }) => {
        requireRights(viewer, action);
        requireFilterRights(viewer, body.filter);
        const age = (await services.now()) - body.before.getTime();
        if (age < 0 || age > longestPlanMs)
          throw new HttpError(409, "plan_expired", "This plan is too old.", { hint: "Make a new one." });
        const choice = chooseFrom(action, body, body.before);
        if (action.isFinal) {
          const { changed } = await preview(services, action, choice);
          if (body.confirm !== changed)
            throw new HttpError(409, "not_confirmed", `This is about ${changed} ${action.unit}.`, {
              hint: "Confirm the number that the plan says.",
            });
        }
        return { id: await services.actions.begin(viewer.user, kind, choice, body) };
      },
    }),
    post({
      path: `plans/${kind}/stop/:id`,
      needs,
      summary: "Stops an action after the portion under way.",
      body: {} as Fields<object>,
      answer: object({ stopped: boolean }),
      handle: async ({ actions }, { params, viewer }) => ({
        stopped: await actions.stop(viewer.user, kind, params["id"]!),
      }),
    }),
    post({
      path: `plans/${kind}/resume/:id`,
      needs,
      summary: "Resumes an action where it ended.",
      body: {} as Fields<object>,
      answer: started,
      handle: async ({ actions }, { params, viewer }) => {
        await actions.get(params["id"]!);
        requireRights(viewer, action);
        await actions.resume(viewer.user, kind, params["id"]!);
        return { id: params["id"]! };
      },
    }),
  ];
};

/** Deduplication keys are payloads, also in the filter of an action. */
const hideKeys = ({ redact }: Services, viewer: Viewer, action: LoggedAction): LoggedAction => {
  const { filter } = action.plan as { readonly filter?: { readonly deduplicationKey?: readonly string[] } };
  if (filter?.deduplicationKey === undefined) return action;
  const deduplicationKey = filter.deduplicationKey.map((key) => {
    const shown = redact.payload(viewer, null, "deduplicationKey", key);
    return typeof shown === "string" ? shown : "(hidden)";
  });
  return { ...action, plan: { ...action.plan, filter: { ...filter, deduplicationKey } } };
};

const listActions = get({
  path: "actions",
  needs: "read",
  summary: "What people did, the latest first.",
  query: {
    limit: withDefault(whole({ min: 1, max: 200 }), 50),
    cursor: optional(text({ max: 2_000 })),
  },
  answer: actionPage,
  handle: async (services, { query, viewer }) => {
    const page = await services.actions.list(query.limit, query.cursor);
    return { actions: page.actions.map((action) => hideKeys(services, viewer, action)), cursor: page.cursor };
  },
});

const getAction = get({
  path: "actions/:id",
  needs: "read",
  summary: "One action, and how far it has come.",
  answer: loggedAction,
  handle: async (services, { params, viewer }) =>
    hideKeys(services, viewer, await services.actions.get(params["id"]!)),
});

export const planRoutes: readonly Route[] = [...actionKinds.flatMap(routesOf), listActions, getAction];
