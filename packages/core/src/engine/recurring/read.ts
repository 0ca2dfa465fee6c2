import type { PreviewedTime, RecurringJob, RecurringJobListing } from "../../api/recurring.ts";
import { requirePart } from "../../contracts/optional-parts.ts";
import { InvalidOptionError } from "../../errors.ts";
import { encodeCursor } from "../../model/cursor.ts";
import {
  optionalInteger,
  requireDate,
  requireId,
  requireName,
  requirePlainObject,
} from "../../model/option-checks.ts";
import { localTime } from "../../model/recurrence/local-time.ts";
import {
  createTimetable,
  parseTimetable,
  type Timetable,
  timetableOptionNames,
} from "../../model/recurrence/timetable.ts";
import type { Engine } from "../engine.ts";
import { pageOptions, parsePage } from "../pages.ts";
import { resolveTransaction } from "../transaction.ts";
import { requireFound } from "./change.ts";
import { readDefinition, timetableOf } from "./definition.ts";
import { viewRecurringJob } from "./view.ts";

export const getRecurringJob = async (
  engine: Engine,
  passed: unknown,
): Promise<RecurringJob<string> | undefined> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "getRecurringJob", options, { id: true });
  const id = requireId(options["id"], "id");
  const { getRecurring } = requirePart(engine.store, "flow", "getRecurringJob");
  const [row] = await getRecurring({ ctx, ids: [id] });
  return row && viewRecurringJob(engine, row);
};

const kind = "recurringJobs";

export const listRecurringJobs = async (
  engine: Engine,
  passed: unknown = {},
): Promise<RecurringJobListing<string>> => {
  const options = requirePlainObject(passed, "options");
  const known = { ...pageOptions, owner: true } as const;
  const ctx = await resolveTransaction(engine, "listRecurringJobs", options, known);
  const { listRecurring } = requirePart(engine.store, "flow", "listRecurringJobs");
  const owner = options["owner"] === undefined ? undefined : requireName(options["owner"], "owner");
  const { limit, after } = parsePage(kind, options);
  // One more tells whether there is another page.
  const rows = await listRecurring({ ctx, owner, limit: limit + 1, after: after?.id ?? null });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    recurringJobs: page.map((row) => viewRecurringJob(engine, row)),
    cursor: rows.length > limit && last ? encodeCursor(kind, last) : null,
  };
};

/** The next times of a definition, or of a recurring job that is stored. Writes nothing. */
export const previewRecurringJob = async (engine: Engine, passed: unknown): Promise<PreviewedTime[]> => {
  const options = requirePlainObject(passed, "options");
  const known = { ...timetableOptionNames, id: true, count: true, from: true } as const;
  const ctx = await resolveTransaction(engine, "previewRecurringJob", options, known);
  const count = optionalInteger(options["count"], "count", 10, { min: 1, max: 1_000 });
  const from = options["from"] === undefined ? undefined : requireDate(options["from"], "from").getTime();
  const timetable =
    options["id"] === undefined
      ? createTimetable(parseTimetable(options))
      : await readTimetable(engine, ctx, options);

  const times: PreviewedTime[] = [];
  let time = timetable.next(from ?? (await engine.store.getTime({ ctx })));
  while (time !== null && times.length < count) {
    times.push({ at: new Date(time), local: localTime(timetable.zone, time) });
    time = timetable.next(time);
  }
  return times;
};

const readTimetable = async (
  engine: Engine,
  ctx: object | undefined,
  options: Record<string, unknown>,
): Promise<Timetable> => {
  const extra = Object.keys(timetableOptionNames).find((name) => options[name] !== undefined);
  if (extra !== undefined) {
    throw new InvalidOptionError(extra, "must be left out with `id`: its times are stored");
  }
  const id = requireId(options["id"], "id");
  const { getRecurring } = requirePart(engine.store, "flow", "previewRecurringJob");
  const [row] = await getRecurring({ ctx, ids: [id] });
  return timetableOf(readDefinition(id, requireFound(id, row).definition));
};
