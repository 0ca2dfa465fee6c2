import type { Lanes } from "../flow/lanes.ts";
import type { NextInLineAt } from "../flow/next-in-line.ts";
import type { Operation } from "../operation.ts";
import type { Runnable } from "../runnable.ts";

export const prepareNextRunnableIn =
  (runnable: Runnable, lanes: Lanes, nextInLineAt: NextInLineAt): Operation<"nextRunnableIn"> =>
  (db, { requests, maxAttempts }, now) => {
    let next = Number.POSITIVE_INFINITY;
    for (const { queue, typeNames } of requests) {
      const scope = { queue, typeNames, maxAttempts };
      const queueLanes = lanes.read(db).get(queue);
      const at =
        queueLanes === undefined ? runnable.nextAt(db, scope) : nextInLineAt(db, scope, queueLanes, now);
      next = Math.min(next, at ?? next);
    }
    return next === Number.POSITIVE_INFINITY ? null : Math.max(0, next - now);
  };
