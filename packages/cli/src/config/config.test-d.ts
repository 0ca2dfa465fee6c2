import { createLeasehold, defineJobTypes, defineUnionJobTypes, typeOnly } from "leasehold";
import { expectTypeOf } from "vitest";
import { defineConfig, defineWorker } from "./config.ts";

const union = defineUnionJobTypes<{ greet: { input: { name: string }; output: string } }>();

const defined = defineJobTypes({
  greet: { input: typeOnly<{ name: string }>(), output: typeOnly<string>() },
});

defineConfig({ store: "sqlite:./jobs.db", jobTypes: union });

defineConfig({ store: "sqlite:./jobs.db", jobTypes: defined });
// @ts-expect-error -- a misspelt setting
defineConfig({ stroe: "sqlite:./jobs.db" });

defineWorker(async (context) => {
  const leasehold = await createLeasehold({ ...context, jobTypes: union });
  return leasehold.createWorker().implementJobType({
    typeName: "greet",
    process: async ({ job }) => {
      expectTypeOf(job.input).toEqualTypeOf<{ name: string }>();
      return job.input.name;
    },
  });
});

// @ts-expect-error -- one that is started already
defineWorker(async (context) => {
  const leasehold = await createLeasehold({ ...context, jobTypes: union });
  return leasehold.createWorker().start();
});
