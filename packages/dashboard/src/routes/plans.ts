import {
  type Field,
  type Fields,
  listOf,
  moment,
  objectOf,
  optional,
  text,
  whole,
  withDefault,
} from "../server/fields.ts";
import { badRequest, HttpError, notFound } from "../server/http-error.ts";
import { get, post, type Route } from "../server/route.ts";
import { createActionRunner } from "../plans/action-runner.ts";
import { foresee } from "../plans/foresee.ts";
import type { Choice } from "../plans/planned-action.ts";
import { type ActionKind, actionKinds, plannedActions } from "../plans/planned-actions.ts";
import { count, date, listOfSchema, nullable, objectSchema, payload, text as textSchema } from "./answers.ts";
import { filterFields, type JobFilterQuery } from "./job-filter.ts";

interface ChoiceBody {
  readonly ids: readonly string[] | undefined;
  readonly filter: JobFilterQuery | undefined;
}

interface ActionBody extends ChoiceBody {
  readonly before: Date;
  readonly pace: number | undefined;
  readonly confirm: number | undefined;
}

const idsField: Field<readonly string[] | undefined> = optional(listOf(text(), { max: 1_000 }));
const choiceFields: Fields<ChoiceBody> = { ids: idsField, filter: optional(objectOf(filterFields)) };
const actionFields: Fields<ActionBody> = {
  ...choiceFields,
  before: moment,
  pace: optional(whole({ min: 1, max: 100_000 })),
  confirm: optional(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })),
};

const chooseFrom = ({ ids, filter }: ChoiceBody, before: Date): Choice => {
  if ((ids === undefined) === (filter === undefined)) throw badRequest('Either "ids" or "filter" is needed.');
  return { ids, filter, before };
};

/** A plan is good for a while: what it says about jobs becomes wrong with time. */
const longestPlanMs = 5 * 60_000;

const foreseen = objectSchema({
  changed: count,
  revived: count,
  skipped: count,
  reasons: { type: "object", additionalProperties: count },
  examples: objectSchema({
    changed: listOfSchema(textSchema),
    skipped: listOfSchema(objectSchema({ jobId: textSchema, reason: textSchema })),
  }),
  isExact: { type: "boolean" },
});

const runner = createActionRunner();

const routesOf = (kind: ActionKind): Route[] => {
  const action = plannedActions[kind];
  const { needs } = action;
  const started = objectSchema({ id: textSchema });
  return [
    post({
      path: `plans/${kind}`,
      needs,
      summary: `What "${kind}" would do, without doing it.`,
      body: choiceFields,
      isExpensive: true,
      answer: objectSchema({
        before: date,
        expiresAt: date,
        unit: textSchema,
        needsConfirmation: { type: "boolean" },
        command: textSchema,
        foreseen,
      }),
      handle: async (services, { body }) => {
        const before = new Date(await services.now());
        return {
          before: before.toISOString(),
          expiresAt: new Date(before.getTime() + longestPlanMs).toISOString(),
          unit: action.unit,
          needsConfirmation: action.isFinal,
          command: `leasehold ${action.command}`,
          foreseen: await foresee(services.leasehold, action, chooseFrom(body, before)),
        };
      },
    }),
    post({
      path: `plans/${kind}/run`,
      needs,
      summary: `Does what a plan for "${kind}" says. Answers when it has begun.`,
      body: actionFields,
      answer: started,
      handle: async (services, { body, viewer }) => {
        const age = (await services.now()) - body.before.getTime();
        if (age < 0 || age > longestPlanMs)
          throw new HttpError(409, "plan_expired", "This plan is too old.", { hint: "Make a new one." });
        const choice = chooseFrom(body, body.before);
        if (action.isFinal) {
          const { changed } = await foresee(services.leasehold, action, choice);
          if (body.confirm !== changed)
            throw new HttpError(409, "not_confirmed", `This is about ${changed} ${action.unit}.`, {
              hint: "Confirm the number that the plan says.",
            });
        }
        return { id: await runner.begin(services, viewer.user, kind, choice, body.pace) };
      },
    }),
    post({
      path: `plans/${kind}/stop/:id`,
      needs,
      summary: "Stops an action after the portion under way.",
      body: {} as Fields<object>,
      answer: objectSchema({ stopped: { type: "boolean" } }),
      handle: async (_services, { params }) => ({ stopped: runner.stop(params["id"]!) }),
    }),
    post({
      path: `plans/${kind}/resume/:id`,
      needs,
      summary: "Goes on with an action where it ended.",
      body: {} as Fields<object>,
      answer: started,
      handle: async (services, { params, viewer }) => {
        await runner.resume(services, viewer.user, kind, params["id"]!);
        return { id: params["id"] };
      },
    }),
  ];
};

const loggedAction = objectSchema({
  id: textSchema,
  user: textSchema,
  kind: textSchema,
  plan: payload,
  result: payload,
  startedAt: date,
  changedAt: nullable(date),
});

const listActions = get({
  path: "actions",
  needs: "read",
  summary: "What people did, the latest first.",
  query: {
    limit: withDefault(whole({ min: 1, max: 200 }), 50),
    cursor: optional(text({ max: 200 })),
  },
  answer: objectSchema({ actions: listOfSchema(loggedAction), cursor: nullable(textSchema) }),
  handle: async ({ actions }, { query }) => actions.list(query.limit, query.cursor),
});

const getAction = get({
  path: "actions/:id",
  needs: "read",
  summary: "One action, and how far it has come.",
  answer: loggedAction,
  handle: async ({ actions }, { params }) => {
    const action = await actions.get(params["id"]!);
    if (action === undefined) throw notFound("such action");
    return action;
  },
});

export const planRoutes: readonly Route[] = [...actionKinds.flatMap(routesOf), listActions, getAction];
