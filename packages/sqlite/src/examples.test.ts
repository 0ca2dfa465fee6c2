import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { main as drizzle } from "../examples/drizzle.ts";
import { main as kysely } from "../examples/kysely.ts";
import { main as quickstart } from "../examples/quickstart.ts";
import { main as testKit } from "../examples/test-kit.ts";
import { createTestFolder } from "./testing/store.ts";

it.each([
  ["Drizzle", drizzle],
  ["Kysely", kysely],
])("%s: the user's writes and the jobs commit together", async (_name, main) => {
  const folder = await createTestFolder();
  const lines: string[] = [];
  await main(join(folder, "shop.db"), (line) => lines.push(line));
  await rm(folder, { recursive: true });
  expect(lines).toEqual(["order-2: out of stock", "order-1: paid, receipt-1"]);
});

it("the example of a test kit", async () => {
  const lines: string[] = [];
  await testKit((line) => lines.push(line));
  expect(lines).toEqual(['[[{"status":"new"}],[{"status":"paid"}]]']);
});

it("the example of the README", async () => {
  const folder = await createTestFolder();
  const lines: string[] = [];
  await quickstart(join(folder, "shop.db"), (line) => lines.push(line));
  await rm(folder, { recursive: true });
  expect(lines).toEqual(["receipt for order-1", "paid"]);
});
