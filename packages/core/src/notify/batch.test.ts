import { expect, it } from "vitest";
import { createNotificationBatch } from "./notifier.ts";

it("counts job types and lists other names, alone and merged", () => {
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
  expect(outer.scheduled).toEqual(new Map([["mail", 4]]));
  expect(outer.names).toEqual(
    new Map([
      ["jobOwnershipLost", ["mail"]],
      ["jobSequenceCompleted", ["a"]],
    ]),
  );
  // A merge copies: what is added later to the one is not in the other.
  outer.add("jobSequenceCompleted", "b");
  expect(batch.names.get("jobSequenceCompleted")).toEqual(["a"]);
});
