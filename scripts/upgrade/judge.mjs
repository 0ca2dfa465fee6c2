/** How long a start, a claim or a commit may wait for a lock of a migration. */
const longestLockWaitMs = 100;

/** Prints the result of a run. Returns whether it is good. */
export const judge = ({ kind, killed, migratedInMs, longestWaitMs, reports, outcome }) => {
  const problems = [];
  for (const { name, errors } of reports) {
    if (errors.length > 0) problems.push(`${name}: ${errors.length} errors, such as: ${errors[0]}`);
  }
  const acknowledged = new Set(reports.flatMap((report) => report.acknowledged));
  const lost = [...acknowledged].filter((id) => outcome.statuses.get(id) !== "completed");
  if (lost.length > 0)
    problems.push(
      `${lost.length} acknowledged jobs are not completed, such as ${lost[0]}: ${outcome.statuses.get(lost[0])}`,
    );
  if (acknowledged.size === 0) problems.push("Nothing was started.");
  if (outcome.unfinished > 0) problems.push(`${outcome.unfinished} jobs are not finished`);
  if (outcome.failed > 0) problems.push(`${outcome.failed} jobs failed`);
  if (outcome.deliveries !== outcome.shipped || outcome.deliveries !== outcome.delivered)
    problems.push(
      `${outcome.deliveries} deliveries of ${outcome.delivered} jobs for ${outcome.shipped} that completed`,
    );
  if (!outcome.workers.some((name) => name.startsWith("worker")) || !outcome.workers.includes("next-worker"))
    problems.push(`Not both versions have worked: ${outcome.workers.join(", ")}`);
  if (!outcome.isMigrated) problems.push("The migrations of the next version are not applied");
  if (outcome.invalidIndexes > 0) problems.push(`${outcome.invalidIndexes} indexes are not valid`);
  if (longestWaitMs > longestLockWaitMs)
    problems.push(`A statement waited ${longestWaitMs} ms for a lock of a migration`);
  const slowest = Math.max(...reports.map(({ slowestStartMs }) => slowestStartMs));
  console.log(
    `${kind}: ${acknowledged.size} sequences started, ${outcome.deliveries} deliveries; migrations ${migratedInMs} ms, ` +
      `${killed ? "killed once" : "too fast to be killed"}, longest wait for a lock ${longestWaitMs} ms, slowest start ${Math.round(slowest)} ms`,
  );
  for (const problem of problems) console.log(`${kind}: ${problem}`);
  return problems.length === 0;
};
