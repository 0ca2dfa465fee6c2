import { describe, expect, it, vi } from "vitest";
import { InvalidOptionError } from "../base/errors.ts";
import { readOnError } from "./transport-adapter.ts";

describe("readOnError", () => {
  it.each([null, 0, "log", {}])("refuses %j", (onError) => {
    expect(() => readOnError(onError)).toThrow(InvalidOptionError);
  });

  it("does nothing where none is given", () => {
    expect(readOnError(undefined)(new Error("lost"))).toBeUndefined();
  });

  it("passes errors on, and survives what is done with them", async () => {
    const reported: unknown[] = [];
    const lost = new Error("lost");
    const unhandled = vi.fn();
    process.once("unhandledRejection", unhandled);
    // Not mocks: those handle the rejections of what they wrap.
    readOnError((error: unknown) => {
      reported.push(error);
      throw new Error("a bug");
    })(lost);
    readOnError(async (error: unknown) => {
      reported.push(error);
      throw new Error("a bug");
    })(lost);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(reported).toEqual([lost, lost]);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
