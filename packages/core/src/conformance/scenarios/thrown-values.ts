import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  throw: { input: { what: string }; output: null };
}>();

const hostile = (): never => {
  throw new Error("touched");
};

const cyclic = (): Error => {
  const error = new Error("outer");
  error.cause = new Error("inner", { cause: error });
  return error;
};

const untouchable = (): object =>
  new Proxy(
    {},
    {
      get: hostile,
      has: hostile,
      ownKeys: hostile,
      getPrototypeOf: hostile,
      getOwnPropertyDescriptor: hostile,
    },
  );

/** What its traps throw is the proxy again: whoever asks what was thrown catches the same thing. */
const endlesslyUntouchable = (): object => {
  const throwSelf = (): never => {
    // oxlint-disable-next-line typescript/only-throw-error -- the point of it
    throw proxy;
  };
  const proxy: object = new Proxy(new Error("never seen"), {
    get: throwSelf,
    has: throwSelf,
    ownKeys: throwSelf,
    getPrototypeOf: throwSelf,
    getOwnPropertyDescriptor: throwSelf,
  });
  return proxy;
};

/** Anything can be thrown; each stands with the name and the message that must be found afterwards. */
const thrown: Readonly<Record<string, { value: () => unknown; name: string; message: RegExp }>> = {
  "an error": { value: () => new TypeError("plain"), name: "TypeError", message: /^plain$/ },
  null: { value: () => null, name: "NonErrorThrown", message: /^null$/ },
  undefined: { value: () => undefined, name: "NonErrorThrown", message: /^undefined$/ },
  "a string": { value: () => "words", name: "NonErrorThrown", message: /^words$/ },
  "a symbol": { value: () => Symbol("sign"), name: "NonErrorThrown", message: /sign/ },
  "a cyclic cause": { value: cyclic, name: "Error", message: /^outer$/ },
  "a hostile toString": {
    value: () => ({ toString: hostile, [Symbol.toPrimitive]: hostile }),
    name: "NonErrorThrown",
    message: /toString/,
  },
  "hostile getters": {
    value: () =>
      Object.defineProperties(
        {},
        { message: { get: hostile }, name: { get: hostile }, stack: { get: hostile } },
      ),
    name: "NonErrorThrown",
    message: /./,
  },
  "a proxy that refuses everything": {
    value: untouchable,
    name: "NonErrorThrown",
    message: /cannot be read/,
  },
  "a proxy whose traps throw such a proxy": {
    value: endlesslyUntouchable,
    name: "NonErrorThrown",
    message: /cannot be read/,
  },
  "NUL and a lone surrogate": {
    value: () => new Error("a\0b\ud800c"),
    name: "Error",
    message: /^a\uFFFDb\uFFFDc$/,
  },
  "a message of 5 MB": {
    value: () => new Error("x".repeat(5_000_000)),
    name: "Error",
    message: /^x{1000,10000}…$/,
  },
};

export const describeThrownValues: Scenario = ({ test }) => {
  for (const [what, { value, name, message }] of Object.entries(thrown)) {
    test(`${what} is recorded, and the job has failed`, jobTypes, async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "throw",
          retry: { type: "fixed", delayMs: 0 },
          process: async () => {
            throw value();
          },
        }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "throw",
        input: { what },
        maxAttempts: 2,
      });

      assert.equal((await failure(started)).reason, "attempts_exhausted");

      const job = await leasehold.jobs.get({ id: started.id });
      assert.ok(job?.status === "failed");
      assert.equal(job.attempt, 2);
      assert.equal(job.failure.error?.name, name);
      assert.match(job.failure.error?.message ?? "", message);
      assert.ok(Buffer.byteLength(JSON.stringify(job.failure.error)) < 64 * 1_024);
    });
  }

  for (const [what, value] of Object.entries({ untouchable, endlesslyUntouchable })) {
    for (const place of ["complete", "staged", "atomic"] as const) {
      test(`inside a transaction as well: ${what}, ${place}`, jobTypes, async (story) => {
        const { leasehold, work, failure } = story;
        const fail = (): never => {
          throw value();
        };
        await work(
          leasehold.createWorker().implementJobType({
            typeName: "throw",
            process: async ({ prepare, complete }) => {
              if (place !== "complete") await prepare({ mode: place }, fail);
              return complete(fail);
            },
          }),
        );
        const started = await leasehold.startJobSequence({
          typeName: "throw",
          input: { what: "" },
          maxAttempts: 1,
        });
        assert.equal((await failure(started)).reason, "attempts_exhausted");
      });
    }
  }
};
