import type { Backlog, Session } from "../answers/numbers.ts";
import {
  boolean,
  count,
  date,
  listOfSchema,
  nullable,
  objectSchema,
  text,
  wordOf,
} from "../answers/schemas.ts";
import { rights } from "../http/rights.ts";
import { get, type Route } from "./route.ts";

/** Counting goes on to this number. The page shows it as "10,000+". */
const cap = 10_000;

export const getSession: Route = get({
  path: "session",
  needs: "read",
  summary: "Who you are, what you may do, and what this store offers.",
  answer: objectSchema<Session>({
    user: text,
    can: listOfSchema(wordOf(...rights)),
    environment: nullable(objectSchema({ label: text, tone: text })),
    parts: objectSchema({
      recurring: boolean,
      edits: boolean,
      limits: boolean,
      history: boolean,
      statistics: boolean,
    }),
    now: date,
  }),
  handle: async ({ environment, stateAdapter, now }, { viewer }) => ({
    user: viewer.user,
    can: [...viewer.can],
    environment,
    parts: {
      statistics: stateAdapter.statistics !== undefined,
      recurring: stateAdapter.recurring !== undefined,
      edits: stateAdapter.edits !== undefined,
      limits: stateAdapter.limits !== undefined,
      history: stateAdapter.history !== undefined,
    },
    now: new Date(await now()).toISOString(),
  }),
});

export const getBacklog: Route = get({
  path: "backlog",
  needs: "read",
  isTopic: true,
  summary: "What waits, runs and has failed, by queue and type. Each number is counted up to a limit.",
  answer: objectSchema<Backlog>({
    cap: count,
    now: date,
    types: listOfSchema(
      objectSchema({
        queue: text,
        typeName: text,
        runnable: count,
        later: count,
        running: count,
        expired: count,
        blocked: count,
        failed: count,
        oldestRunnableAt: nullable(date),
      }),
    ),
  }),
  handle: async ({ stateAdapter, now }) => {
    const [types, time] = await Promise.all([stateAdapter.statistics?.measureBacklog({ cap }) ?? [], now()]);
    return {
      cap,
      now: new Date(time).toISOString(),
      types: types.map(({ oldestRunnableAt, ...numbers }) => ({
        ...numbers,
        oldestRunnableAt: oldestRunnableAt === null ? null : new Date(oldestRunnableAt).toISOString(),
      })),
    };
  },
});
