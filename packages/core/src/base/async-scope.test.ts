import { describe, expect, it } from "vitest";
import { createAsyncScope } from "./async.ts";

describe("scopes", () => {
  it("keep their own value across awaits, whatever other scopes are open", async () => {
    const one = createAsyncScope<string>();
    const other = createAsyncScope<number>();
    await one.run("outer", async () => {
      await other.run(1, async () => {
        await Promise.resolve();
        expect([one.getStore(), other.getStore()]).toEqual(["outer", 1]);
        one.run("inner", () => expect([one.getStore(), other.getStore()]).toEqual(["inner", 1]));
        expect(one.getStore()).toBe("outer");
      });
      expect(other.getStore()).toBeUndefined();
    });
    expect(one.getStore()).toBeUndefined();
  });

  it("pass arguments on and do not mix concurrent runs", async () => {
    const scope = createAsyncScope<number>();
    const read = async (factor: number): Promise<number> => {
      await Promise.resolve();
      return scope.getStore()! * factor;
    };
    expect(await Promise.all([1, 2, 3].map((value) => scope.run(value, read, 10)))).toEqual([10, 20, 30]);
  });
});
