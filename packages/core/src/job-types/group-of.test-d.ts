import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./define.ts";

test("`group` knows the input of its type", () => {
  defineJobTypes({
    sync: {
      input: z.object({ accountId: z.string(), count: z.number().default(1) }),
      group: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ accountId: string; count: number }>();
        return input.accountId;
      },
      ordered: { onFailure: "stop" },
    },
    plain: { input: typeOnly<{ tenant: string }>(), group: ({ tenant }) => tenant, ordered: true },
  });
  defineUnionJobTypes<{ sync: { input: { accountId: string }; output: null } }>({
    sync: { group: ({ accountId }) => accountId },
  });
});

test("an entry without options leaves the other entries as they are", () => {
  const jobTypes = defineJobTypes({
    call: { input: typeOnly<{ tenant: string }>(), group: ({ tenant }) => tenant },
    nothing: {},
  });
  expectTypeOf(jobTypes).toEqualTypeOf<
    JobTypes<{
      call: { input: { tenant: string }; output: null };
      nothing: { input: null; output: null };
    }>
  >();
});

test("`group` returns a string, of an input that is there", () => {
  defineJobTypes({
    sync: {
      input: typeOnly<{ n: number }>(),
      // @ts-expect-error -- a number is no group
      group: ({ n }) => n,
    },
  });
  defineJobTypes({
    sync: {
      input: typeOnly<{ n: string }>(),
      // @ts-expect-error -- the input has no such property
      group: (input) => input.m,
    },
  });
  defineUnionJobTypes<{ sync: { input: { accountId: string }; output: null } }>({
    // @ts-expect-error -- the input has no such property
    sync: { group: ({ tenant }) => tenant },
  });
});
