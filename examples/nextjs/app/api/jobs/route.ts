import { defineWorker, getLeasehold } from "../../../lib/leasehold";

// #region cron
export const maxDuration = 60;

/** Called by cron, where no process runs all the time. */
export const GET = async (): Promise<Response> => {
  const worker = defineWorker(await getLeasehold());
  return Response.json(await worker.runUntilIdle({ deadlineMs: 55_000 }));
};
// #endregion
