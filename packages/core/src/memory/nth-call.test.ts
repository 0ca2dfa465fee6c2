import { afterAll, describe, it } from "vitest";
import { nthCallConformance } from "../conformance/nth-call.ts";
import { createInProcessStateAdapter } from "./state-adapter.ts";

nthCallConformance(
  { describe, it, afterAll },
  {
    time: "manual",
    create: async (clock) => {
      const adapter = createInProcessStateAdapter({ clock });
      return { adapter, destroy: () => adapter.close() };
    },
  },
);
