import * as fc from "fast-check";
import { modelConformance } from "leasehold/testing";
import type { MongoClient } from "mongodb";
import { MongoClient as MongoClient6 } from "mongodb6";
import { afterAll, describe, it } from "vitest";
import { isFull } from "./testing/length.ts";
import { createTestStore } from "./testing/store.ts";

// All calls of the contract with the older driver that is supported; the other tests use the newer one.
const connect = (uri: string) => new MongoClient6(uri) as unknown as MongoClient;

describe("driver 6", () => {
  modelConformance(
    { describe, it, afterAll },
    {
      create: () => createTestStore(connect),
      without: {
        limits: "not built yet",
        history: "not built yet",
      },
    },
    { fc, runs: isFull ? 15 : 8 },
  );
});
