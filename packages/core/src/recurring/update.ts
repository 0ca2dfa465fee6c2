import { InvalidOptionError } from "../base/errors.ts";
import { largestInt32, requireId, requireInteger } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { parseInput } from "../jobs/update.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";
import { changeRecurringJobs, requireFound, requireVersion } from "./change.ts";
import { parsePolicies, policyOptionNames, readDefinition, type RecurringDefinition } from "./definition.ts";
import { changeRow, requireStartable } from "./put.ts";
import { parseTimetable, type TimetableDefinition, timetableOptionNames } from "./timetable.ts";

const changeNames = { ...timetableOptionNames, ...policyOptionNames, input: true } as const;

type Options = Readonly<Record<string, unknown>>;

const givenOf = (options: Options, names: object): Options =>
  Object.fromEntries(
    Object.keys(names).flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );

const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** What is not named stays. A cron expression replaces an interval, and the other way round. */
const changeTimes = (before: TimetableDefinition, options: Options): TimetableDefinition => {
  const given = givenOf(options, timetableOptionNames);
  if (Object.keys(given).length === 0) return before;
  const isCron = "cron" in before;
  const isOtherKind = given[isCron ? "everyMs" : "cron"] !== undefined;
  const kept = isCron
    ? { cron: before.cron, timeZone: before.timeZone }
    : { everyMs: before.everyMs, anchorAt: date(before.anchorAt) };
  return parseTimetable({
    startAt: date(before.startAt),
    endAt: date(before.endAt),
    ...(isOtherKind ? {} : kept),
    ...given,
  });
};

/** Changes what is named of a recurring job and leaves the rest, also settings of its job that only its program knows. */
export const updateRecurringJob = (engine: Engine, passed: unknown): Promise<StateRecurringJob> =>
  operation(
    engine,
    "recurring.update",
    passed,
    { options: { ...changeNames, id: true, expectedVersion: true }, part: "recurring" },
    async ({ options, ctx }) => {
      const id = requireId(options["id"], "id");
      const expected =
        options["expectedVersion"] === undefined
          ? undefined
          : requireInteger(options["expectedVersion"], "expectedVersion", { min: 0, max: largestInt32 });
      if (Object.keys(givenOf(options, changeNames)).length === 0)
        throw new InvalidOptionError("cron", "or another change must be given: there is nothing to change");
      const [changed] = await changeRecurringJobs(
        engine,
        "recurring.update",
        ctx,
        [id],
        async ({ rows, now, ctx: inner }) => {
          const row = requireFound(id, rows[0]);
          requireVersion(id, row, expected);
          const { times, policies, job } = readDefinition(id, row.definition);
          const input =
            options["input"] === undefined
              ? undefined
              : await parseInput(engine, job.typeName, options["input"]);
          const definition: RecurringDefinition = {
            format: 1,
            times: changeTimes(times, options),
            policies: parsePolicies({ ...policies, ...givenOf(options, policyOptionNames) }),
            job: input === undefined ? job : { ...job, input: input.text },
          };
          const next = changeRow(row, definition, row.paused, row.owner, now);
          if (next.definition !== row.definition) await requireStartable(engine, inner, [{ id, definition }]);
          return [next];
        },
      );
      return changed!;
    },
  );
