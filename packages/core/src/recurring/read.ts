import { decodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { optionalInteger, requireDate, requireId, requireName } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { encodeCursor, pageOptions, parsePage } from "../engine/pages.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";
import { requirePart } from "../store/parts.ts";
import type { PreviewedTime, RecurringJob, RecurringJobListing } from "./api.ts";
import { requireFound } from "./change.ts";
import { readTickHistory } from "./decide-tick.ts";
import { readDefinition, timetableOf } from "./definition.ts";
import { localTime } from "./time-zone.ts";
import { createTimetable, parseTimetable, type Timetable, timetableOptionNames } from "./timetable.ts";

const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

export const viewRecurringJob = (engine: Engine, row: StateRecurringJob): RecurringJob<string> => {
  const { times, policies, job } = readDefinition(row.id, row.definition);
  const { counts, recent, waiting, failure } = readTickHistory(row.tickHistory);
  const isCron = "cron" in times;
  return {
    id: row.id,
    version: row.version,
    cron: isCron ? times.cron : null,
    timeZone: isCron ? times.timeZone : null,
    everyMs: isCron ? null : times.everyMs,
    anchorAt: isCron ? null : new Date(times.anchorAt),
    startAt: date(times.startAt),
    endAt: date(times.endAt),
    ...policies,
    job: {
      typeName: job.typeName,
      input: decodePayload(engine.codec, job.input, "input"),
      queue: job.queue,
      priority: job.priority,
      maxAttempts: job.maxAttempts,
      timeoutMs: job.timeoutMs,
      group: job.group,
      expireAfterMs: job.expireAfterMs ?? null,
    },
    paused: row.paused,
    owner: row.owner,
    nextAt: row.paused ? null : date(row.nextNominalAt),
    waitingFor: date(waiting?.nominalAt ?? null),
    lastSequenceId: row.lastSequenceId,
    failure: failure && {
      since: new Date(failure.since),
      tries: failure.tries,
      error: failure.error,
      retryAt: row.paused ? null : date(row.runsAt),
    },
    counts,
    recent: recent.map(({ nominalAt, at, ...tick }) => ({
      ...tick,
      nominalAt: new Date(nominalAt),
      at: new Date(at),
    })),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
};

export const getRecurringJob = (engine: Engine, passed: unknown): Promise<RecurringJob<string> | undefined> =>
  operation(
    engine,
    "recurring.get",
    passed,
    { options: { id: true }, part: "recurring" },
    async ({ options, ctx, part }) => {
      const id = requireId(options["id"], "id");
      const { getRecurring } = part;
      const [row] = await getRecurring({ ctx, ids: [id] });
      return row && viewRecurringJob(engine, row);
    },
  );

const kind = "recurringJobs";

export const listRecurringJobs = (
  engine: Engine,
  passed: unknown = {},
): Promise<RecurringJobListing<string>> =>
  operation(
    engine,
    "recurring.list",
    passed,
    { options: { ...pageOptions, owner: true }, part: "recurring" },
    async ({ options, ctx, part }) => {
      const { listRecurring } = part;
      const owner = options["owner"] === undefined ? undefined : requireName(options["owner"], "owner");
      const { limit, after } = parsePage(kind, options);
      // One more row shows whether there is another page.
      const rows = await listRecurring({ ctx, owner, limit: limit + 1, after: after?.id ?? null });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        recurringJobs: page.map((row) => viewRecurringJob(engine, row)),
        cursor: rows.length > limit && last ? encodeCursor(kind, last) : null,
      };
    },
  );

/** The next times of a definition, or of a recurring job that is stored. Writes nothing. */
export const previewRecurringJob = (engine: Engine, passed: unknown): Promise<PreviewedTime[]> =>
  operation(
    engine,
    "recurring.preview",
    passed,
    { options: { ...timetableOptionNames, id: true, count: true, from: true } },
    async ({ options, ctx }) => {
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
    },
  );

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
  const { getRecurring } = requirePart(engine.store, "recurring", "recurring.preview");
  const [row] = await getRecurring({ ctx, ids: [id] });
  return timetableOf(readDefinition(id, requireFound(id, row).definition));
};
