import { queryFields } from "../actions/job-filter.ts";
import { backlog, session } from "../answers/numbers.ts";
import { get, type Route } from "./route.ts";

/** Jobs are counted up to this number. The page shows it as "10,000+". */
const cap = 10_000;

export const getSession: Route = get({
  path: "session",
  needs: "read",
  summary: "Who you are, what you may do, and what this store offers.",
  answer: session,
  handle: async ({ environment, signOutPath, stores, stateAdapter, now }, { viewer }) => ({
    user: viewer.user,
    can: [...viewer.can],
    environment,
    signOutPath,
    stores,
    parts: {
      statistics: stateAdapter.statistics !== undefined,
      recurring: stateAdapter.recurring !== undefined,
      edits: stateAdapter.edits !== undefined,
      limits: stateAdapter.limits !== undefined,
      history: stateAdapter.history !== undefined,
    },
    filters: queryFields.map(({ name, many }) => ({ name, many })),
    now: new Date(await now()).toISOString(),
  }),
});

export const getBacklog: Route = get({
  path: "backlog",
  needs: "read",
  isTopic: true,
  summary: "What waits, runs and has failed, by queue and type. Each number is counted up to a limit.",
  answer: backlog,
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
