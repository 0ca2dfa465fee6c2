import * as fc from "fast-check";
import { modelConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

modelConformance({ describe, it, afterAll }, { create: () => createTestStore() }, { fc, runs: 150 });
