import { beforeEach, describe, expect, it, vi } from "vitest";
import { createHintListeners, type HintListeners } from "./listeners.ts";

let errors: unknown[];
let listeners: HintListeners;

beforeEach(() => {
  errors = [];
  listeners = createHintListeners((error) => errors.push(error));
});

const failing = (): never => {
  throw new Error("a listener's bug");
};

describe("hint listeners", () => {
  it("takes turns", () => {
    const turns: string[] = [];
    for (const name of ["a", "b", "c"]) listeners.addScheduled(["type"], () => turns.push(name));
    for (let times = 0; times < 3; times += 1) listeners.tellScheduled("type", 2);
    expect(turns.join("")).toBe("abcabc");
  });

  it("counts and calls those who listen for the type and want a hint", () => {
    const heard: string[] = [];
    listeners.addScheduled(
      ["type"],
      () => heard.push("busy"),
      () => false,
    );
    listeners.addScheduled(["other"], () => heard.push("other"));
    listeners.addScheduled(
      ["type"],
      () => heard.push("idle"),
      () => true,
    );
    listeners.addScheduled(null, () => heard.push("any"));
    expect(listeners.wanting("type")).toBe(2);
    listeners.tellScheduled("type", 10);
    expect(heard).toEqual(["idle", "any"]);
  });

  it("reports a wantsHint that throws and passes it over", () => {
    const heard = vi.fn();
    listeners.addScheduled(["type"], heard, failing);
    listeners.addScheduled(["type"], heard);
    expect(listeners.wanting("type")).toBe(1);
    listeners.tellScheduled("type", 1);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(errors).toHaveLength(2);
  });

  it("reports listeners that throw; the others hear", () => {
    const heard = vi.fn();
    for (const listener of [failing, heard]) {
      listeners.addScheduled(null, listener);
      listeners.addCompleted(["id"], listener);
      listeners.addLost(listener);
    }
    listeners.tellScheduled("type", 2);
    listeners.tellCompleted("id");
    listeners.tellLost("id");
    expect(heard).toHaveBeenCalledTimes(3);
    expect(errors).toHaveLength(3);
  });

  it("does not call whom an earlier callback removed", () => {
    const heard = vi.fn();
    const removals: (() => void)[] = [];
    const removeAll = (): void => removals.forEach((remove) => remove());
    listeners.addScheduled(null, removeAll);
    listeners.addCompleted(["id"], removeAll);
    listeners.addLost(removeAll);
    removals.push(
      listeners.addScheduled(null, heard),
      listeners.addCompleted(["id"], heard),
      listeners.addLost(heard),
    );
    listeners.tellScheduled("type", 2);
    listeners.tellCompleted("id");
    listeners.tellLost("id");
    expect(heard).not.toHaveBeenCalled();
  });

  it("forgets ids nobody listens for", () => {
    const heard = vi.fn();
    const removeFirst = listeners.addCompleted(["a", "b", "a"], heard);
    listeners.addCompleted(["b"], heard);
    removeFirst();
    removeFirst();
    listeners.tellCompleted("a");
    listeners.tellCompleted("b");
    expect(heard.mock.calls).toEqual([["b"]]);
  });

  it("tells everyone who waits to look, once for each thing waited for", () => {
    const heard: string[] = [];
    listeners.addScheduled(["one", "two"], (typeName) => heard.push(typeName));
    listeners.addScheduled(null, (typeName) => heard.push(`any${typeName}`));
    listeners.addScheduled([], () => heard.push("nothing"));
    listeners.addScheduled(
      ["busy"],
      (typeName) => heard.push(typeName),
      () => false,
    );
    listeners.addCompleted(["a", "b"], (id) => heard.push(id));
    listeners.addLost((id) => heard.push(id));
    listeners.tellEveryone();
    expect(heard).toEqual(["one", "any", "a", "b"]);
  });

  it("calls nobody after it was cleared, not even from within a call", () => {
    const heard = vi.fn();
    listeners.addCompleted(["id"], () => listeners.clear());
    listeners.addCompleted(["id"], heard);
    listeners.addScheduled(null, heard);
    listeners.addLost(heard);
    listeners.tellCompleted("id");
    listeners.tellScheduled("type", 1);
    listeners.tellLost("id");
    listeners.tellEveryone();
    expect(heard).not.toHaveBeenCalled();
  });
});
