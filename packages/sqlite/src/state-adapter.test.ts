import { stateAdapterConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./test-support/store.ts";

stateAdapterConformance({ describe, it, afterAll }, { create: () => createTestStore() });
