import { InvalidOptionError } from "leasehold/adapter";
import { describe, expect, it, vi } from "vitest";
import { createPgNotifyAdapter } from "./notify-adapter.ts";
import type { PgNotifyProvider } from "./provider.ts";

describe("onError of createPgNotifyAdapter", () => {
  it.each([null, "log", {}])("is refused when it is %j", async (onError) => {
    const subscribe = vi.fn<PgNotifyProvider["subscribe"]>();
    const notifyProvider = { publish: async () => undefined, subscribe };
    const creating = createPgNotifyAdapter({ notifyProvider, onError: onError as never });
    await expect(creating).rejects.toThrow(InvalidOptionError);
    expect(subscribe).not.toHaveBeenCalled();
  });

  it("may throw: the adapter still listens again", async () => {
    const subscribe = vi.fn<PgNotifyProvider["subscribe"]>(async () => ({
      ping: async () => undefined,
      close: async () => undefined,
    }));
    subscribe.mockRejectedValueOnce(new Error("the server is starting"));
    const onError = vi.fn(() => {
      throw new Error("a bug");
    });
    const notifyProvider = { publish: async () => undefined, subscribe };
    const adapter = await createPgNotifyAdapter({ notifyProvider, onError });
    expect(onError).toHaveBeenCalledTimes(1);
    expect(subscribe).toHaveBeenCalledTimes(2);
    await adapter.close();
  });
});
