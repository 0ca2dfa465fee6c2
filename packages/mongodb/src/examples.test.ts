import { MongoClient } from "mongodb";
import { expect, it } from "vitest";
import { main as mongoose } from "../examples/mongoose.ts";
import { main as quickstart } from "../examples/quickstart.ts";
import { main as testKit } from "../examples/test-kit.ts";
import { useServerUri, withDatabase } from "./testing/use-server-uri.ts";

const serverUri = useServerUri();

/** Runs an example in a database of its own, and returns what it printed. */
const run = async (
  name: string,
  main: (uri: string, print: (line: string) => void) => Promise<void>,
): Promise<readonly string[]> => {
  const uri = withDatabase(serverUri(), `leasehold_${process.pid}_${name}`);
  const lines: string[] = [];
  await main(uri, (line) => lines.push(line));
  const client = new MongoClient(uri);
  await client.db().dropDatabase();
  await client.close();
  return lines;
};

it("the example of the README", async () => {
  expect(await run("quickstart", quickstart)).toEqual(["receipt for order-1", "paid"]);
});

it("the example with Mongoose: documents and jobs commit together", async () => {
  expect(await run("mongoose", mongoose)).toEqual(["order-2: out of stock", "order-1: paid, receipt-1"]);
});

it("the example of a test kit", async () => {
  expect(await run("kit", testKit)).toEqual(['["new","paid"]']);
});
