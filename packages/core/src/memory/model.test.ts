import * as fc from "fast-check";
import { afterAll, describe, it } from "vitest";
import { modelConformance } from "../conformance/model.ts";
import { createInProcessStateAdapter } from "./state-adapter.ts";

modelConformance(
  { describe, it, afterAll },
  {
    create: async () => {
      const adapter = createInProcessStateAdapter();
      return { adapter, destroy: () => adapter.close() };
    },
  },
  { fc, runs: 700 },
);
