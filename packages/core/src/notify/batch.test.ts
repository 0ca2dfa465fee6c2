import { expect, it } from "vitest";
import { createNotificationBatch } from "./notifier.ts";

it("counts each name of each kind, alone and merged", () => {
  const batch = createNotificationBatch();
  expect(batch.isEmpty()).toBe(true);
  batch.add("jobScheduled", "mail");
  batch.add("jobScheduled", "mail", 2);
  batch.add("jobSequenceCompleted", "a");
  const outer = createNotificationBatch();
  outer.add("jobScheduled", "mail");
  outer.add("jobOwnershipLost", "mail");
  outer.merge(batch);
  outer.merge(createNotificationBatch());
  expect(outer.isEmpty()).toBe(false);
  expect(outer.byKind).toEqual(
    new Map([
      ["jobScheduled", new Map([["mail", 4]])],
      ["jobOwnershipLost", new Map([["mail", 1]])],
      ["jobSequenceCompleted", new Map([["a", 1]])],
    ]),
  );
  // A merge copies: what is added later to the one is not in the other.
  outer.add("jobSequenceCompleted", "b");
  expect(batch.byKind.get("jobSequenceCompleted")).toEqual(new Map([["a", 1]]));
});
