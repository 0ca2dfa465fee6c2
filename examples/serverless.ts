// Workers that run for a while: a function that a timer calls, a route for a cron service, a worker that lets its database sleep.
import { pathToFileURL } from "node:url";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  type RunUntilIdleResult,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "send-mail": { input: { to: string }; output: null };
}>();

const leasehold = await createLeasehold({ stateAdapter: createInProcessStateAdapter(), jobTypes });

const worker = leasehold.createWorker().implementJobType({
  typeName: "send-mail",
  process: async ({ job, signal }) => {
    signal.throwIfAborted();
    sent.push(job.input.to);
    return null;
  },
});

const sent: string[] = [];

interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

// #region lambda
export const handler = (_event: unknown, context: LambdaContext): Promise<RunUntilIdleResult> =>
  // Half a second is left for what follows the run.
  worker.runUntilIdle({ deadlineMs: context.getRemainingTimeInMillis() - 500 });
// #endregion

// #region route
// app/api/jobs/route.ts, called by cron; with `export const maxDuration = 60`
export const GET = async (request: Request): Promise<Response> => {
  if (request.headers.get("authorization") !== `Bearer ${process.env["CRON_SECRET"]}`)
    return new Response(null, { status: 401 });
  return Response.json(await worker.runUntilIdle({ deadlineMs: 55_000, abortGraceMs: 5_000 }));
};
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  await leasehold.startJobSequence({ typeName: "send-mail", input: { to: "ada@example.com" } });
  const tomorrow = new Date("2099-01-01T00:00:00Z");
  await leasehold.startJobSequence({
    typeName: "send-mail",
    input: { to: "grace@example.com" },
    schedule: { at: tomorrow },
  });
  const { ranJobs, isIdle, nextRunnableAt } = await handler({}, { getRemainingTimeInMillis: () => 25_000 });
  print(`Sent to ${sent.join(", ")}: ranJobs=${ranJobs}, isIdle=${isIdle}`);
  print(`The next job is due in ${nextRunnableAt?.getUTCFullYear()}`);

  process.env["CRON_SECRET"] = "secret";
  const url = "https://example.com/api/jobs";
  print(`Without the secret: ${(await GET(new Request(url))).status}`);
  const response = await GET(new Request(url, { headers: { authorization: "Bearer secret" } }));
  const result = (await response.json()) as { ranJobs: number };
  print(`With it: ${response.status}, ranJobs=${result.ranJobs}`);

  // #region sleep
  const running = await worker.start({ idleSleepMs: 3_600_000 });
  // #endregion
  await running.stop();
  await leasehold.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
