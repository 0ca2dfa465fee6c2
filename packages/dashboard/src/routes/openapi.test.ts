import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { type Right, rights } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";
import { routes } from "./index.ts";

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });

it("describes every route, with what it needs", async () => {
  const { ask } = await openShop(["read"]);
  const { body } = await ask("api/openapi.json");
  expect(body.openapi).toBe("3.1.0");
  for (const { method, path, needs } of routes) {
    const operation = body.paths[`/${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method.toLowerCase()];
    expect(operation, path).toMatchObject({ summary: expect.any(String) });
    expect(operation.description).toContain(needs);
  }
});

it("is valid OpenAPI, and describes the stream of events with its topics", async () => {
  const { ask } = await openShop(["read"], { basePath: "/ops/jobs" });
  const { body } = await ask("api/openapi.json");
  const { valid, errors } = await new Validator().validate(body);
  expect([valid, errors]).toEqual([true, undefined]);
  expect(body.servers).toEqual([{ url: "/ops/jobs/api/v1" }]);
  const { parameters, responses } = body.paths["/events"].get;
  expect(Object.keys(responses["200"].content)).toEqual(["text/event-stream"]);
  expect(parameters[0].schema.items.enum).toEqual(
    routes.filter(({ isTopic }) => isTopic).map(({ path }) => path),
  );
  const operations = Object.values<Record<string, { operationId: string }>>(body.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(operations).size).toBe(operations.length);
});

it.each([
  ["everything", rights],
  ["reading", ["read"]],
] as [string, readonly Right[]][])(
  "answers as described, to a user with the right for %s",
  async (_name, can) => {
    const { leasehold, read, startWorker } = await openShop(can);
    const broken = await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
    await leasehold.startJobSequence({
      typeName: "mail",
      input: { to: "ada" },
      schedule: { afterMs: 60_000 },
    });
    await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" }, group: "a" });
    await leasehold.limits.set({ queue: "default", concurrency: 5 });
    await leasehold.recurring.put({
      id: "nightly",
      cron: "0 3 * * *",
      timeZone: "UTC",
      job: { typeName: "mail", input: { to: "ops" } },
    });
    const worker = await startWorker();
    await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
    await worker.stop();
    const addresses: Readonly<Record<string, string>> = {
      "jobs/:id": `jobs/${broken.id}`,
      "trees/:id": `trees/${broken.id}`,
      "recurring/:id/times": "recurring/nightly/times",
      "recurring-times": "recurring-times?everyMs=60000",
      groups: "groups?typeName=order",
    };
    for (const { method, path, answer } of routes) {
      if (method !== "GET" || path === "actions/:id") continue;
      const { status, body } = await read(addresses[path] ?? path);
      expect(status, path).toBe(200);
      const validate = ajv.compile(answer);
      expect(validate(body), `${path} ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  },
);
