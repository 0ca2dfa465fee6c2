import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openServers, redriveEverywhere, sendReport, startWorkers } from "../../examples/many-servers.ts";

const regions = ["europe", "america"];

const serverOf = (tenant: string): string => (tenant.endsWith(".eu") ? "europe" : "america");

let postgres: PostgresServer[];

let servers: Awaited<ReturnType<typeof openServers>>;

beforeAll(async () => {
  postgres = await Promise.all(regions.map(() => startPostgres()));
  servers = await openServers(
    Object.fromEntries(regions.map((region, index) => [region, postgres[index]!.url])),
  );
}, 60_000);

afterAll(async () => {
  await Promise.all([...servers.values()].map(({ close }) => close()));
  await Promise.all(postgres.map((server) => server.stop()));
});

it("has the jobs of each tenant on its own server, runs them in one process, and redrives them everywhere", async () => {
  let isBroken = false;
  const workers = await startWorkers(servers, async (tenant) => {
    if (isBroken) throw new Error("The mail server is away.");
    return `sent to ${tenant}`;
  });
  const send = (tenant: string): Promise<string> => sendReport(servers, serverOf, tenant);
  expect(await Promise.all(["acme.eu", "globex.us"].map(send))).toEqual([
    "sent to acme.eu",
    "sent to globex.us",
  ]);

  isBroken = true;
  const { leasehold } = servers.get("europe")!;
  const failed = await leasehold.startJobSequence({
    typeName: "send-report",
    input: { tenant: "initech.eu" },
    maxAttempts: 1,
  });
  await expect(leasehold.waitForJobSequenceCompletion(failed)).rejects.toThrow("failed");
  isBroken = false;
  expect(Object.fromEntries(await redriveEverywhere(servers))).toEqual({ europe: 1, america: 0 });
  expect((await leasehold.waitForJobSequenceCompletion(failed)).output).toBe("sent to initech.eu");

  // What happens to one server does not concern the other.
  await postgres[0]!.shutDown("fast");
  expect(await send("globex.us")).toBe("sent to globex.us");
  await postgres[0]!.startAgain();
  expect(await send("acme.eu")).toBe("sent to acme.eu");
  await Promise.all(workers.map((worker) => worker.stop()));
});
