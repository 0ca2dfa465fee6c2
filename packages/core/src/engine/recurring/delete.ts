import { requirePart } from "../../contracts/optional-parts.ts";
import { requireId, requirePlainObject } from "../../model/option-checks.ts";
import type { Engine } from "../engine.ts";
import { resolveTransaction } from "../transaction.ts";

/** Removes a recurring job. What it has started stays. Returns whether it was there. */
export const deleteRecurringJob = async (
  engine: Engine,
  passed: unknown,
): Promise<{ readonly deleted: boolean }> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "deleteRecurringJob", options, { id: true });
  const id = requireId(options["id"], "id");
  const { deleteRecurring } = requirePart(engine.store, "flow", "deleteRecurringJob");
  return { deleted: (await deleteRecurring({ ctx, ids: [id] })).length > 0 };
};
