import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import type { Middleware } from "./handler-api.ts";
import { createJobHandlerFactory } from "./job-handler-factory.ts";

const jobTypes = defineUnionJobTypes<{ greet: { input: { name: string }; output: string } }>();

interface Tenant {
  readonly tenant: string;
}

const withTenant: Middleware<Tenant> = ({ job }, next) => next({ tenant: `tenant of ${job.typeName}` });

const run = async (kit: Awaited<ReturnType<typeof createKit>>, worker: Parameters<typeof kit.drain>[0]) => {
  const { id } = await kit.leasehold.startJobSequence({
    typeName: "greet",
    input: { name: "Ada" },
    maxAttempts: 1,
  });
  await kit.drain(worker);
  return kit.leasehold.jobs.get({ id, typeName: "greet" });
};

const createKit = () => createTestKit({ jobTypes });

describe("values that a middleware passes to next", () => {
  it("reach later middleware and a handler in a file of its own, also by a rest parameter", async () => {
    const kit = await createKit();
    const withQuota: Middleware<{ readonly quota: number }, Tenant> = ({ tenant }, next) =>
      next({ quota: tenant.length });
    const createJobHandler = createJobHandlerFactory<typeof kit.leasehold, Tenant & { quota: number }>();
    const greet = createJobHandler({
      typeName: "greet",
      process: async ({ job, ...rest }) => `${job.input.name}, ${rest.tenant}, ${rest.quota}`,
    });
    const worker = kit.leasehold.createWorker().use(withTenant).use(withQuota).implementJobType(greet);
    expect(await run(kit, worker)).toMatchObject({ output: "Ada, tenant of greet, 15" });
  });

  it("cannot take the place of what handlers get, or of another value", async () => {
    for (const values of [{ job: 1 }, { complete: 1 }, { tenant: 1 }]) {
      const kit = await createKit();
      const worker = kit.leasehold
        .createWorker()
        .use(withTenant)
        .use<object>((_context, next) => next(values))
        .implementJobType({ typeName: "greet", process: async () => "ran" });
      const [name] = Object.keys(values);
      expect(await run(kit, worker)).toMatchObject({
        status: "failed",
        lastError: { message: expect.stringContaining(`\`${name}\``) },
      });
    }
  });
});
