import type { Finding, StateRecurringJob } from "../contracts/state-adapter.ts";
import { formatDuration, plural } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";
import type { Facts } from "./facts.ts";
import { onOneLine } from "./on-one-line.ts";

// Workers sleep until the next time, and look every few seconds.
const overdueAfterMs = 60_000;
const pageSize = 1_000;
const mostPages = 20;

/** Whether anybody starts the jobs of recurring jobs, and by which zone data. */
export const checkRecurringJobs = async (
  facts: Facts,
  zoneData: string = process.versions["tz"] ?? "",
): Promise<readonly Finding[]> => {
  const { flow } = facts.store;
  if (flow === undefined) return [];
  const now = await facts.now();
  let count = 0;
  const overdue: StateRecurringJob[] = [];
  let newest = "";
  let after: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const rows: readonly StateRecurringJob[] = await flow.listRecurring({ limit: pageSize, after });
    count += rows.length;
    for (const row of rows) {
      if (!row.paused && row.fireAt !== null && row.fireAt < now - overdueAfterMs) overdue.push(row);
      if (row.zoneData > newest) newest = row.zoneData;
    }
    if (rows.length < pageSize) break;
    after = rows.at(-1)!.id;
  }
  if (count === 0) return [];

  const findings: Finding[] = [];
  if (overdue.length > 0) {
    const first = overdue.reduce((a, b) => (a.fireAt! < b.fireAt! ? a : b));
    findings.push(
      finding.problem(
        "recurring jobs",
        `${plural(overdue.length, "recurring job")} overdue, ${onOneLine(first.id)} for ${formatDuration(now - first.fireAt!)}.`,
        "No worker is alive that could start their jobs: start one. Workers of a version without recurring jobs do not.",
      ),
    );
  }
  if (zoneData !== "" && newest > zoneData) {
    findings.push(
      finding.warning(
        "recurring jobs",
        `Their times were computed with time zone data ${newest}; here it is ${zoneData}.`,
        "Run the same version of Node.js everywhere, so that all workers agree on daylight saving.",
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [finding.ok("recurring jobs", `${plural(count, "recurring job")}, none overdue.`)];
};
