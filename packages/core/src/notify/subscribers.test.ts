import { beforeEach, describe, expect, it, vi } from "vitest";
import { createSubscribers, type Subscribers } from "./in-process.ts";

let errors: unknown[];

let listeners: Subscribers;

beforeEach(() => {
  errors = [];
  listeners = createSubscribers((error) => errors.push(error));
});

const failing = (): never => {
  throw new Error("a listener's bug");
};

describe("notification listeners", () => {
  it("takes turns", () => {
    const turns: string[] = [];
    for (const name of ["a", "b", "c"]) listeners.add("jobScheduled", ["type"], () => turns.push(name));
    for (let times = 0; times < 3; times += 1) listeners.notify("jobScheduled", "type", 2);
    expect(turns.join("")).toBe("abcabc");
  });

  it("counts and calls those who listen for the type and want a notification", () => {
    const heard: string[] = [];
    listeners.add(
      "jobScheduled",
      ["type"],
      () => heard.push("busy"),
      () => false,
    );
    listeners.add("jobScheduled", ["other"], () => heard.push("other"));
    listeners.add(
      "jobScheduled",
      ["type"],
      () => heard.push("idle"),
      () => true,
    );
    listeners.add("jobScheduled", null, () => heard.push("any"));
    expect(listeners.wanting("jobScheduled", "type")).toBe(2);
    listeners.notify("jobScheduled", "type", 10);
    expect(heard).toEqual(["idle", "any"]);
  });

  it("reports a wantsHint that throws and passes it over", () => {
    const heard = vi.fn();
    listeners.add("jobScheduled", ["type"], heard, failing);
    listeners.add("jobScheduled", ["type"], heard);
    expect(listeners.wanting("jobScheduled", "type")).toBe(1);
    listeners.notify("jobScheduled", "type", 1);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(errors).toHaveLength(2);
  });

  it("reports listeners that throw; the others hear", () => {
    const heard = vi.fn();
    for (const listener of [failing, heard]) {
      listeners.add("jobScheduled", null, listener);
      listeners.add("jobSequenceCompleted", ["id"], listener);
      listeners.add("jobOwnershipLost", null, listener);
    }
    listeners.notify("jobScheduled", "type", 2);
    listeners.notify("jobSequenceCompleted", "id");
    listeners.notify("jobOwnershipLost", "id");
    expect(heard).toHaveBeenCalledTimes(3);
    expect(errors).toHaveLength(3);
  });

  it("does not call whom an earlier callback removed", () => {
    const heard = vi.fn();
    const removals: (() => void)[] = [];
    const removeAll = (): void => removals.forEach((remove) => remove());
    listeners.add("jobScheduled", null, removeAll);
    listeners.add("jobSequenceCompleted", ["id"], removeAll);
    listeners.add("jobOwnershipLost", null, removeAll);
    removals.push(
      listeners.add("jobScheduled", null, heard),
      listeners.add("jobSequenceCompleted", ["id"], heard),
      listeners.add("jobOwnershipLost", null, heard),
    );
    listeners.notify("jobScheduled", "type", 2);
    listeners.notify("jobSequenceCompleted", "id");
    listeners.notify("jobOwnershipLost", "id");
    expect(heard).not.toHaveBeenCalled();
  });

  it("forgets ids nobody listens for", () => {
    const heard = vi.fn();
    const removeFirst = listeners.add("jobSequenceCompleted", ["a", "b", "a"], heard);
    listeners.add("jobSequenceCompleted", ["b"], heard);
    removeFirst();
    removeFirst();
    listeners.notify("jobSequenceCompleted", "a");
    listeners.notify("jobSequenceCompleted", "b");
    expect(heard.mock.calls).toEqual([["b"]]);
  });

  it("knows whether anybody listens for a kind", () => {
    const removals = [
      listeners.add("jobScheduled", null, vi.fn()),
      listeners.add("jobScheduled", ["a"], vi.fn()),
    ];
    expect(listeners.has("jobSequenceCompleted")).toBe(false);
    for (const remove of removals) {
      expect(listeners.has("jobScheduled")).toBe(true);
      remove();
    }
    expect(listeners.has("jobScheduled")).toBe(false);
  });

  it("takes turns among listeners of one name, of several and of every name", () => {
    const turns: string[] = [];
    listeners.add("jobScheduled", null, () => turns.push("every"));
    listeners.add("jobScheduled", ["one", "two"], () => turns.push("both"));
    listeners.add("jobScheduled", ["one"], () => turns.push("one"));
    listeners.notify("jobScheduled", "two", 1);
    listeners.notify("jobScheduled", "one", 1);
    listeners.notify("jobScheduled", "one", 1);
    listeners.notify("jobScheduled", "two", 1);
    expect(turns).toEqual(["every", "both", "one", "every"]);
  });

  it("tells everyone who waits to look, once for each thing waited for", () => {
    const heard: string[] = [];
    listeners.add("jobScheduled", ["one", "two"], (typeName) => heard.push(typeName));
    listeners.add("jobScheduled", null, (typeName) => heard.push(`any${typeName}`));
    listeners.add("jobScheduled", [], () => heard.push("nothing"));
    listeners.add(
      "jobScheduled",
      ["busy"],
      (typeName) => heard.push(typeName),
      () => false,
    );
    listeners.add("jobSequenceCompleted", ["a", "b"], (id) => heard.push(id));
    listeners.add("jobOwnershipLost", null, (id) => heard.push(id));
    listeners.notifyAfterGap();
    expect(heard).toEqual(["one", "any", "a", "b"]);
  });

  it("calls nobody after it was cleared, not even from within a call", () => {
    const heard = vi.fn();
    listeners.add("jobSequenceCompleted", ["id"], () => listeners.clear());
    listeners.add("jobSequenceCompleted", ["id"], heard);
    listeners.add("jobScheduled", null, heard);
    listeners.add("jobOwnershipLost", null, heard);
    listeners.notify("jobSequenceCompleted", "id");
    listeners.notify("jobScheduled", "type", 1);
    listeners.notify("jobOwnershipLost", "id");
    listeners.notifyAfterGap();
    expect(heard).not.toHaveBeenCalled();
  });
});
