import { clockToleranceMs, type StateRecurringJob } from "../store/contract/recurring.ts";
import { byBytes } from "../store/rules/group-pages.ts";
import { type Operation, put } from "./rows.ts";

export const getRecurring: Operation<"getRecurring"> = ({ recurring }, { ids }) =>
  ids.map((id) => recurring.get(id));

export const listRecurring: Operation<"listRecurring"> = ({ recurring }, { limit, after, owner }) =>
  [...recurring.values()]
    .filter((row) => owner === undefined || row.owner === owner)
    .filter(({ id }) => after === null || byBytes(id, after) > 0)
    .sort((a, b) => byBytes(a.id, b.id))
    .slice(0, limit);

export const nextRecurringIn: Operation<"nextRecurringIn"> = ({ recurring }, _call, now) => {
  const active = [...recurring.values()].filter(({ paused }) => !paused);
  const earliest = active.reduce((at, { runsAt }) => Math.min(at, runsAt ?? at), Infinity);
  return earliest === Infinity ? null : Math.max(0, earliest - now);
};

// The open transaction is the only writer, so every row is locked already.

export const lockRecurring: Operation<"lockRecurring"> = ({ recurring }, { ids }) =>
  ids.map((id) => recurring.get(id));

export const lockDueRecurring: Operation<"lockDueRecurring"> = (
  { recurring },
  { limit, timeZoneVersion },
  now,
) => {
  const isOutdated = (row: StateRecurringJob): boolean =>
    timeZoneVersion !== null &&
    ((row.timeZoneVersion !== "" && row.timeZoneVersion < timeZoneVersion) ||
      row.computedAt > now + clockToleranceMs);
  const jobs = [...recurring.values()]
    .filter((row) => !row.paused && row.runsAt !== null && (row.runsAt <= now || isOutdated(row)))
    .sort((a, b) => a.runsAt! - b.runsAt! || byBytes(a.id, b.id))
    .slice(0, limit);
  return { now, jobs };
};

export const putRecurring: Operation<"putRecurring"> = (rows, { jobs }, now) =>
  jobs.map((job) => {
    const createdAt = rows.recurring.get(job.id)?.createdAt ?? now;
    const stored: StateRecurringJob = { ...job, createdAt, updatedAt: now };
    put(rows, rows.recurring, job.id, stored);
    return stored;
  });

export const advanceRecurring: Operation<"advanceRecurring"> = (rows, { jobs }) => {
  for (const job of jobs) {
    const row = rows.recurring.get(job.id);
    if (row !== undefined) put(rows, rows.recurring, job.id, { ...row, ...job });
  }
};

export const deleteRecurring: Operation<"deleteRecurring"> = (rows, { ids }) => {
  const found = ids.filter((id) => rows.recurring.has(id));
  for (const id of found) put(rows, rows.recurring, id, undefined);
  return found;
};
