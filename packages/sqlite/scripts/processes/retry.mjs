// A process of the tests that claims jobs and has every attempt of them fail, until it is killed.
//
//   fork("retry.mjs", [JSON.stringify({ file, driver })])
import { randomUUID } from "node:crypto";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const { file, driver } = JSON.parse(process.argv[2]);
const tell = (message) => process.send?.(message);
// Ends with its parent.
process.on("disconnect", () => process.exit());

const adapter = await createSqliteStateAdapter({ file, driver });
for (;;) {
  const requests = [{ queue: "queue", typeNames: ["type"], limit: 5 }];
  const lease = { workerId: String(process.pid), leaseToken: randomUUID(), leaseMs: 600_000 };
  const jobs = await adapter.claimJobs({ ...lease, requests, limit: 5 });
  const outcomes = jobs.map((job) => ({
    kind: "retry",
    jobId: job.id,
    leaseToken: lease.leaseToken,
    schedule: { afterMs: 0 },
    error: "failed",
    note: {
      attempt: job.attempt,
      leaseVersion: job.leaseVersion,
      workerId: lease.workerId,
      deployment: null,
      dueAt: job.scheduledAt,
      startedAt: job.lastAttemptAt,
      fingerprint: null,
      error: "failed",
      log: null,
    },
  }));
  await adapter.commitOutcomes({ outcomes });
  tell({ failed: outcomes.length });
}
