import { startPostgres } from "@leasehold/test-servers";
import { expect, it } from "vitest";
import { openBusyShop } from "../busy-shop.ts";
import { openPostgres } from "../stores.ts";

it("gives up on a store that does not answer, and says so", async () => {
  const server = await startPostgres();
  const { stateAdapter, pool, schema, close } = await openPostgres(server.url);
  const { read, dashboard } = await openBusyShop(stateAdapter);
  const blocker = await pool.connect();
  await blocker.query("BEGIN");
  await blocker.query(`LOCK TABLE ${schema}.job IN ACCESS EXCLUSIVE MODE`);
  const askedAt = Date.now();
  expect(await read("jobs")).toMatchObject({
    status: 503,
    body: { error: { code: "too_slow", message: "The store did not answer in time." } },
  });
  expect(Date.now() - askedAt).toBeLessThan(17_000);
  await blocker.query("COMMIT");
  blocker.release();
  expect((await read("jobs")).status).toBe(200);
  await dashboard.close();
  await close();
  await server.stop();
});
