import { type CancelCall, cancelled, type CancelResult, checkCancellation } from "leasehold/adapter";
import type { Store, StoreCall } from "../database/database.ts";
import type { Work } from "../database/transactions.ts";
import { failDependants } from "./dependants.ts";

const cancelSequence = async (work: Work, sequenceId: string, error: string): Promise<CancelResult> => {
  const stored = (await work.currents([sequenceId])).get(sequenceId);
  const unchanged = checkCancellation(sequenceId, stored?.row);
  if (stored === undefined || unchanged !== undefined) return unchanged!;
  const wasRunning = stored.row.status === "running";
  const { row } = work.save(stored, cancelled(stored.row, error, work.now));
  return { sequenceId, kind: "cancelled", job: row, changed: true, wasRunning, cascaded: [] };
};

export const cancelSequences = (store: Store, call: StoreCall & CancelCall): Promise<CancelResult[]> =>
  store.work(call, async (work) => {
    // All that were named are cancelled before any failure spreads: a job named beside its own blocker is `cancelled`
    // whichever of the two comes first.
    const results: CancelResult[] = [];
    for (const id of call.sequenceIds) results.push(await cancelSequence(work, id, call.error));
    const spread: CancelResult[] = [];
    for (const result of results) {
      const cascaded = result.changed && result.job !== null ? await failDependants(work, result.job) : [];
      spread.push({ ...result, cascaded });
    }
    return spread;
  });
