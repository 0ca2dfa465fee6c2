import { beforeEach, describe, expect, it, vi } from "vitest";
import { createNotificationListeners, type NotificationListeners } from "./in-process.ts";

let errors: unknown[];

let listeners: NotificationListeners;

beforeEach(() => {
  errors = [];
  listeners = createNotificationListeners((error) => errors.push(error));
});

const failing = (): never => {
  throw new Error("a listener's bug");
};

describe("notification listeners", () => {
  it("takes turns", () => {
    const turns: string[] = [];
    for (const name of ["a", "b", "c"]) listeners.add("jobScheduled", ["type"], () => turns.push(name));
    for (let times = 0; times < 3; times += 1) listeners.tell("jobScheduled", "type", 2);
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
    listeners.tell("jobScheduled", "type", 10);
    expect(heard).toEqual(["idle", "any"]);
  });

  it("reports a wantsHint that throws and passes it over", () => {
    const heard = vi.fn();
    listeners.add("jobScheduled", ["type"], heard, failing);
    listeners.add("jobScheduled", ["type"], heard);
    expect(listeners.wanting("jobScheduled", "type")).toBe(1);
    listeners.tell("jobScheduled", "type", 1);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(errors).toHaveLength(2);
  });

  it("reports listeners that throw; the others hear", () => {
    const heard = vi.fn();
    for (const listener of [failing, heard]) {
      listeners.add("jobScheduled", null, listener);
      listeners.add("sequenceFinished", ["id"], listener);
      listeners.add("jobOwnershipLost", null, listener);
    }
    listeners.tell("jobScheduled", "type", 2);
    listeners.tell("sequenceFinished", "id");
    listeners.tell("jobOwnershipLost", "id");
    expect(heard).toHaveBeenCalledTimes(3);
    expect(errors).toHaveLength(3);
  });

  it("does not call whom an earlier callback removed", () => {
    const heard = vi.fn();
    const removals: (() => void)[] = [];
    const removeAll = (): void => removals.forEach((remove) => remove());
    listeners.add("jobScheduled", null, removeAll);
    listeners.add("sequenceFinished", ["id"], removeAll);
    listeners.add("jobOwnershipLost", null, removeAll);
    removals.push(
      listeners.add("jobScheduled", null, heard),
      listeners.add("sequenceFinished", ["id"], heard),
      listeners.add("jobOwnershipLost", null, heard),
    );
    listeners.tell("jobScheduled", "type", 2);
    listeners.tell("sequenceFinished", "id");
    listeners.tell("jobOwnershipLost", "id");
    expect(heard).not.toHaveBeenCalled();
  });

  it("forgets ids nobody listens for", () => {
    const heard = vi.fn();
    const removeFirst = listeners.add("sequenceFinished", ["a", "b", "a"], heard);
    listeners.add("sequenceFinished", ["b"], heard);
    removeFirst();
    removeFirst();
    listeners.tell("sequenceFinished", "a");
    listeners.tell("sequenceFinished", "b");
    expect(heard.mock.calls).toEqual([["b"]]);
  });

  it("knows whether anybody listens for a kind", () => {
    const removals = [
      listeners.add("jobScheduled", null, vi.fn()),
      listeners.add("jobScheduled", ["a"], vi.fn()),
    ];
    expect(listeners.has("sequenceFinished")).toBe(false);
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
    listeners.tell("jobScheduled", "two", 1);
    listeners.tell("jobScheduled", "one", 1);
    listeners.tell("jobScheduled", "one", 1);
    listeners.tell("jobScheduled", "two", 1);
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
    listeners.add("sequenceFinished", ["a", "b"], (id) => heard.push(id));
    listeners.add("jobOwnershipLost", null, (id) => heard.push(id));
    listeners.tellEveryone();
    expect(heard).toEqual(["one", "any", "a", "b"]);
  });

  it("calls nobody after it was cleared, not even from within a call", () => {
    const heard = vi.fn();
    listeners.add("sequenceFinished", ["id"], () => listeners.clear());
    listeners.add("sequenceFinished", ["id"], heard);
    listeners.add("jobScheduled", null, heard);
    listeners.add("jobOwnershipLost", null, heard);
    listeners.tell("sequenceFinished", "id");
    listeners.tell("jobScheduled", "type", 1);
    listeners.tell("jobOwnershipLost", "id");
    listeners.tellEveryone();
    expect(heard).not.toHaveBeenCalled();
  });
});
