// Mistakes in recurring jobs. They are hunted with the tests of core, on a manual clock. `find` must occur exactly once in the
// source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src");
export const recurringBugs = bugs;

plant("recurring/cron-times.ts", [
  [
    "the next time is 24 hours later",
    [
      "cron.everyHour ? nextByElapsedTime(cron, zone, after) : nextByWallTime(cron, zone, after)",
      "cron.everyHour ? nextByElapsedTime(cron, zone, after) : cron.hours.length === 1 && cron.minutes.length === 1 && cron.months.length === 12 && cron.days.length === 31 && cron.weekdays.length === 7 && nextByWallTime(cron, zone, after - 86_400_000) + 86_400_000 > after ? nextByWallTime(cron, zone, after - 86_400_000) + 86_400_000 : nextByWallTime(cron, zone, after)",
    ],
  ],
  [
    "a time that clocks show twice comes twice",
    [
      "if (zone.offsetAt(wall - before) === before) return wall - before;",
      "if (wall - after > wall - before && zone.offsetAt(wall - after) === after) return wall - after;\n  if (zone.offsetAt(wall - before) === before) return wall - before;",
    ],
  ],
  [
    "a time that clocks skip is left out",
    ["if (after - before > longestGapMs) return null;", "return null;"],
  ],
  ["a lost day is made up for", ["if (after - before > longestGapMs) return null;", ""]],
  [
    "every hour leaves out the hour that comes twice",
    ["cron.everyHour ? nextByElapsedTime", "false ? nextByElapsedTime"],
  ],
]);

plant("recurring/cron.ts", [
  ["day and weekday both have to fit", ["dayOrWeekday: !everyDay && !everyWeekday", "dayOrWeekday: false"]],
  [
    "a day that names every day says nothing",
    ['const everyDay = dayParts.includes("*");', "const everyDay = days.length === 31;"],
  ],
  [
    "an impossible date is accepted",
    ["if (everyWeekday && !lastDay &&", "if (false && everyWeekday && !lastDay &&"],
  ],
]);

plant("recurring/timetable.ts", [
  ["jitter goes past the next time", ["Math.min(jitterMs, nextNominalAt - nominalAt)", "jitterMs"]],
  [
    "a jitter longer than the interval piles up before the next time",
    [
      "nominalAt + (hash(`${id} ${nominalAt}`) % widthMs)",
      "nominalAt + Math.min(hash(`${id} ${nominalAt}`) % jitterMs, widthMs - 1)",
    ],
  ],
]);

plant("recurring/timetable.ts", [
  [
    "after the clock was set back, times come twice",
    ["repeated + shiftMs;", "repeated;"],
    ["timetable.next(after - shiftMs)", "timetable.next(after)", "recurring/timetable.ts"],
  ],
  ["after a second set-back, times come twice", ["((before?.shiftMs ?? 0) % longestShiftMs) + 1", "1"]],
  ["a clock that is set back silences recurring jobs", ["timetable.count(now, until, 2) > 1", "false"]],
  ["a night comes twice when the clock is set back", ["timetable.count(now, until, 2) > 1", "true"]],
]);

plant("recurring/change.ts", [
  ["a clock that is a little behind brings a time twice", ["Math.max(now, row?.computedAt ?? now)", "now"]],
]);

plant("worker/maintenance.ts", [
  ["the first recurring job of another process is seen late", ["listening.isInProcess", "false"]],
  [
    "a worker does not notice that the clock is set back",
    ["if ((dueIn > 0 || lastReading", "if (false && (dueIn > 0 || lastReading"],
  ],
]);

plant("recurring/decide-tick.ts", [
  ["what was missed is not counted", ["const missed = dropped[0]?.count ?? 0;", "const missed = 0;"]],
  ["the window is ignored", ["policies.catchUpWindowMs;", "Infinity;"]],
  [
    "a run starts beside one that has not finished",
    ["let isBusy = unfinishedSequenceId !== null;", "let isBusy = false;"],
  ],
  [
    "more than one run waits",
    ['policies.overlap === "queue_one" && waiting === null', 'policies.overlap === "queue_one"'],
  ],
  ["what is replaced goes on", ["cancelsLast = unfinishedSequenceId !== null;", ""]],
]);

plant("recurring/tick.ts", [
  [
    "tick and start are two transactions",
    [
      "    return jobs.length;\n  });\n\nconst announceSetBack",
      "    return jobs.length;\n  }).then(async (looked) => {\n    const { later } = engine;\n    engine.later = undefined;\n    if (later) await engine.store.runInTransaction((ctx) => engine.store.recurring.advanceRecurring({ ...later, ctx }));\n    return looked;\n  });\n\nconst announceSetBack",
    ],
    [
      "await engine.store.recurring!.advanceRecurring({\n    ctx,",
      "engine.later = ({\n    ctx,",
      "recurring/tick.ts",
    ],
  ],
  [
    "a time that was missed is forgotten",
    [
      "const nextNominalAt = isOutdated || wasSetBack ? timetable.next(computedAt) : row.nextNominalAt;",
      "const nextNominalAt = timetable.next(now);",
    ],
  ],
  [
    "a time due by older zone data is computed anew",
    ["(row.nextNominalAt ?? 0) > now", "(row.nextNominalAt ?? 0) > 0"],
  ],
  [
    "a time due by older zone data that newer data lack is left out",
    ["mayBeOffTimetable ? withTime(timetable, nextNominalAt) : timetable", "timetable"],
  ],
  ["one that cannot be started holds up the others", ["return tickOneByOne(engine, error);", "throw error;"]],
  ["one that cannot be started is tried without a pause", ["runsAt: now + retryInMs,", "runsAt: now,"]],
  ["a start does not end the failure", ["        failure: null,\n      }),", "      }),"]],
]);

plant("recurring/tick.ts", [
  [
    "a recurring job does not move on",
    ["nextNominalAt: decision.nextNominalAt,", "nextNominalAt: row.nextNominalAt,"],
  ],
  [
    "the last sequence is not remembered",
    ["row.lastSequenceId,\n      tickHistory", "null,\n      tickHistory"],
  ],
]);

plant("recurring/put.ts", [
  [
    "putting the same again is a change",
    ["if (text === row.definition && paused === row.paused && owner === row.owner) return row;", ""],
  ],
  [
    "a new input costs the run that is due",
    ["if (hasSameTimes(row, definition) && paused === row.paused) return retryAtOnce(changed, now);", ""],
  ],
  [
    "pausing and resuming by put makes up for what fell due",
    ["hasSameTimes(row, definition) && paused === row.paused", "hasSameTimes(row, definition)"],
  ],
  ["a change does not help what could not be started", ["? row : { ...row, runsAt: now };", "? row : row;"]],
  ["a program takes over what another has declared", ["row.owner !== null && row.owner !== owner", "false"]],
]);

plant("recurring/put.ts", [
  [
    "what others have put is removed",
    ["row.owner === owner && !declared.has(row.id)", "!declared.has(row.id)"],
    ["recurring.listRecurring({ owner, limit", "recurring.listRecurring({ limit", "recurring/put.ts"],
  ],
  [
    "a start locks recurring jobs that have not changed",
    ["return row === undefined || !isSame(row, request, owner);", "return true;"],
  ],
  [
    "declared recurring jobs are put one by one",
    ["const writeBatchSize = 500;", "const writeBatchSize = 1;"],
  ],
  [
    "a refusal does not name the recurring job",
    ["for (const request of requests) await requireStartable(engine, ctx, [request]);", "throw error;"],
  ],
]);
