import type { Finding } from "../contracts/state-adapter.ts";
import { formatCount } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";
import type { Facts } from "./facts.ts";

// From here on lists, backups and the disk feel it.
const manyJobs = 1_000_000;

/** Whether somebody has forgotten to say how long finished jobs are kept. */
export const checkRetention = async ({ store }: Facts): Promise<readonly Finding[]> => {
  if (store.diagnostics === undefined) return [];
  const kept = await store.diagnostics.estimateJobs({ limit: manyJobs + 1 });
  const count = kept > manyJobs ? `More than ${formatCount(manyJobs)}` : `About ${formatCount(kept)}`;
  const [oldest] = (await store.listJobs({ filter: {}, order: "oldest", limit: 1, after: null })).jobs;
  const since =
    oldest === undefined ? "" : `, the oldest from ${new Date(oldest.createdAt).toISOString().slice(0, 10)}`;
  const summary = `${count} jobs are kept${since}.`;
  return [
    kept <= manyJobs
      ? finding.ok("retention", summary)
      : finding.warning(
          "retention",
          summary,
          "Say how long to keep finished ones, with `defaults: { retention }` of createLeasehold or per job type, or remove them with `leasehold prune`.",
        ),
  ];
};
