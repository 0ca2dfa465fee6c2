import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as batches from "./batches.ts";
import * as blockers from "./blockers.ts";
import * as cancelAndTimeout from "./cancel-and-timeout.ts";
import * as deduplication from "./deduplication.ts";
import * as firstProgram from "./first-program.ts";
import * as gracefulStop from "./graceful-stop.ts";
import * as jobTypeSettings from "./job-type-settings.ts";
import * as middleware from "./middleware.ts";
import * as history from "./history.ts";
import * as queries from "./queries.ts";
import * as retention from "./retention.ts";
import * as queuesAndPriorities from "./queues-and-priorities.ts";
import * as retryAndDeadLetter from "./retry-and-dead-letter.ts";
import * as scheduledJob from "./scheduled-job.ts";
import * as schemaValidation from "./schema-validation.ts";
import * as sequence from "./sequence.ts";
import * as serverless from "./serverless.ts";
import * as simpleJob from "./simple-job.ts";
import * as simulation from "./simulation.ts";
import * as testKit from "./test-kit.ts";
import * as transaction from "./transaction.ts";
import * as fanOut from "./fan-out.ts";
import * as saga from "./saga.ts";
import * as idempotencyKeys from "./idempotency-keys.ts";
import * as tenants from "./tenants.ts";
import * as recurringJob from "./recurring-job.ts";
import * as pollAnApi from "./poll-an-api.ts";
import * as limits from "./limits.ts";
import * as migrating from "./migrating.ts";
import * as waitingJobs from "./waiting-jobs.ts";
import * as workerlessApproval from "./workerless-approval.ts";

interface Expectation {
  readonly main: (print: (line: string) => void) => Promise<void>;
  readonly lines: readonly string[];
  /** Where a handler and the program that waits for it print side by side. */
  readonly inAnyOrder?: boolean;
}

/** For a program that writes a file where it is run. */
const inTemporaryFolder =
  (main: Expectation["main"]): Expectation["main"] =>
  async (print) => {
    const before = process.cwd();
    const folder = mkdtempSync(join(tmpdir(), "leasehold-example-"));
    process.chdir(folder);
    try {
      await main(print);
    } finally {
      process.chdir(before);
      rmSync(folder, { recursive: true });
    }
  };

const examples: Record<string, Expectation> = {
  batches: {
    main: batches.main,
    lines: [
      "The search engine is asked once, for 3 pages.",
      "The search engine is asked once, for 1 pages.",
      "Words: 1",
      "Failed: /broken was not accepted",
      "Words: 6",
      "Views: 100",
    ],
  },
  migrating: { main: migrating.main, lines: ["message for ada@example.com"] },
  "fan-out": {
    main: fanOut.main,
    lines: ["summer: 3 photos, 18000 bytes"],
  },
  saga: {
    main: saga.main,
    lines: [
      "Booked: room for Ada",
      "Cancelled: room for Charles: The card was declined.",
      "Cancelled: room for Grace: The payment provider does not answer.",
    ],
  },
  "idempotency-keys": {
    main: idempotencyKeys.main,
    lines: [
      "transfer 1 to ada, at attempt 2",
      "The same request again: deduplicated=true",
      "Transfers made: 1",
    ],
  },
  tenants: {
    main: tenants.main,
    lines: ["All 6 reports were sent.", "Globex waited for all of Acme's: false"],
  },
  "recurring-job": {
    main: recurringJob.main,
    lines: [
      "2030-03-30T02:30:00+01:00",
      "2030-03-31T03:00:00+02:00",
      "2030-04-01T02:30:00+02:00",
      "Report of 2030-01-01T01:30:00.000Z for DE",
      "Synced a-1, 1 times missed",
      "started",
      "Synced a-1, 0 times missed",
      "next 2030-01-01T03:00:00.000Z",
      "started 1",
      "caught_up 1",
      "dropped 1",
    ],
    inAnyOrder: true,
  },
  "poll-an-api": {
    main: pollAnApi.main,
    lines: ["e-1: completed, attempts used: 1", "e-2: unrecoverable"],
  },
  limits: {
    main: limits.main,
    lines: [
      "Calls at once: 4",
      "Changes in order: 1, 2, 3",
      'throttled: It is throttled. Type "call-api" in queue "default" is paused. Resume it with limits.resume.',
      "It has run.",
    ],
  },
  "first-program": {
    main: inTemporaryFolder(firstProgram.main),
    lines: ["Receipt sent to ada@example.com", "The order says: sent"],
  },
  "job-type-settings": {
    main: jobTypeSettings.main,
    lines: ["Shipped from shelf 7 to Berlin"],
  },
  "test-kit": {
    main: testKit.main,
    lines: ["After the first attempt: pending, attempt 1", "An hour later: completed, attempt 2"],
  },
  simulation: {
    main: simulation.main,
    lines: [
      "A new key for each attempt: some customers pay twice",
      "The job's id as the key: nobody pays twice",
    ],
  },
  "simple-job": {
    main: simpleJob.main,
    lines: ["Hello, Ada!", "The job is completed after 1 attempt."],
  },
  sequence: {
    main: sequence.main,
    lines: [
      "Shipped: parcel-lamp-1",
      "Jobs of the sequence: reserve-stock -> charge-card -> ship-order",
      "Declined: over the limit",
    ],
  },
  blockers: {
    main: blockers.main,
    lines: [
      "Without a worker the summary is blocked.",
      "It waits for: count-words, find-author",
      "doc-7: 3 words by Grace",
    ],
  },
  "workerless-approval": {
    main: workerlessApproval.main,
    lines: [
      "Waiting for approval: pending",
      "Published at /posts/leases?by=Grace",
      "A second click: JobAlreadyCompletedError",
      "approve-post: no worker",
      "publish-post: a worker",
    ],
  },
  deduplication: {
    main: deduplication.main,
    lines: [
      "While unfinished: deduplicated=true, same id=true",
      "After it has finished: deduplicated=false",
      'Scope "all", after it has finished: deduplicated=true',
      "Within the hour: deduplicated=true",
      "An hour later: deduplicated=false",
      "The same key for another type: deduplicated=false",
    ],
  },
  "waiting-jobs": {
    main: waitingJobs.main,
    lines: [
      "After 12 changes: replaced=true, version 12",
      "It runs at second 10",
      "Moved to second 71",
      "Would run now: 1",
      'It is first in queue "default". If it stays there, no running worker serves that queue and type "send-code", or those that do are busy. It fails with "expired" unless it has begun by 2026-01-01T00:01:11.000Z.',
      "Failed with expired",
    ],
  },
  "retry-and-dead-letter": {
    main: retryAndDeadLetter.main,
    lines: [
      "Completed at attempt 3; before that: The rate server did not answer attempt 2.",
      "Failed at once (unrecoverable): There is no such currency.",
      "The order fails with its blocker (blocker_failed).",
      "In failed: fetch-rates (unrecoverable)",
      "In failed: price-order (blocker_failed)",
      "In failed: fetch-rates (attempts_exhausted)",
      "A dry run would revive 1 job and 1 dependant.",
      "After the redrive the order costs 1000.",
    ],
  },
  middleware: {
    main: middleware.main,
    lines: [
      "before send-mail",
      "[send-mail, attempt 1] mail to ada@example.com",
      "after send-mail",
      "before send-mail",
      "[send-mail, attempt 2] mail to ada@example.com",
      "after send-mail",
      "sent: true",
    ],
  },
  "graceful-stop": {
    main: gracefulStop.main,
    lines: [
      "First stop: clean=true",
      "The short job is completed.",
      "The long job was told: shutdown",
      "Second stop: clean=false, abortedJobs=1",
      "The long job is pending again, with 0 attempts used.",
      "The long job: done by the third worker",
    ],
  },
  serverless: {
    main: serverless.main,
    lines: [
      "Sent to ada@example.com: ranJobs=1, isIdle=true",
      "The next job is due in 2099",
      "Without the secret: 401",
      "With it: 200, ranJobs=0",
    ],
  },
  "scheduled-job": {
    main: scheduledJob.main,
    lines: [
      "Reminder: water the plants",
      "Not before its time: true",
      "It is scheduled for 2099-01-01T00:00:00.000Z.",
      "The export was ready at look 3; attempts used: 1.",
    ],
  },
  "schema-validation": {
    main: schemaValidation.main,
    lines: [
      "What the schema returns is stored: width 800",
      "Refused: input.url",
      "Not storable: input.at",
      "Resized: 800.png",
      "Under the stricter schema: invalid_input",
    ],
  },
  transaction: {
    main: transaction.main,
    inAnyOrder: true,
    lines: [
      "After the commit there is 1 job.",
      "Rolled back: The card was declined.",
      "After the rollback there is still 1 job.",
      "The order completed at attempt 2: receipt-for-o-1",
      "Receipts started, although the first attempt failed: 1",
      "Receipt for o-1 sent.",
      "Imported: 42",
    ],
  },
  "cancel-and-timeout": {
    main: cancelAndTimeout.main,
    inAnyOrder: true,
    lines: [
      'Progress: {"percent":40}',
      "Cancelled: 1, skipped: 0",
      "first was told: cancelled",
      "Failed (cancelled): The user closed the page.",
      "second was told: timeout",
      "Failed (attempts_exhausted): JobTimeoutError",
      "Cancelled with the course: 2 videos",
    ],
  },
  "queues-and-priorities": {
    main: queuesAndPriorities.main,
    lines: ["Alert: disk almost full", "Reports in order: for the board meeting, weekly, monthly"],
  },
  retention: {
    main: retention.main,
    lines: [
      "After an hour the first poll is gone; the next one is on its way",
      "After a week the mail is gone",
      "The payment is kept: completed",
    ],
  },
  history: {
    main: history.main,
    lines: [
      "Attempt 2 on cashier: completed; no error; log: ",
      "Attempt 1 on cashier: retried; The bank does not answer; log: asks the bank",
      "2 failed with UnrecoverableJobError: Order # is over the limit",
      "A redrive of this cause would revive 2",
      "default, charge-card: 3 created, 1 completed, 2 failed, 1 retried",
      "A process of v42: alive, 0 workers",
      "failures: 2 jobs failed in the last hour; 2 in all. See `leasehold failed list`, and `leasehold failed redrive` when the cause is gone.",
    ],
  },
  queries: {
    main: queries.main,
    inAnyOrder: true,
    lines: [
      "A page of 1, 2",
      "A page of 3",
      "index-page: 3",
      "clean-up: 1",
      "Runnable, with 2 ahead of it",
      "It is scheduled for 2099-01-01T00:00:00.000Z.",
      "Deleted: 1",
      "Finished more than 30 days ago: 0",
    ],
  },
};

describe("examples", () => {
  it.each(Object.entries(examples))(
    "%s prints what it promises",
    async (_name, { main, lines, inAnyOrder }) => {
      const printed: string[] = [];
      await main((line) => printed.push(line));
      const arrange = (given: readonly string[]) => (inAnyOrder === true ? given.toSorted() : given);
      expect(arrange(printed)).toEqual(arrange(lines));
    },
  );

  it("are all executed here", () => {
    const files = readdirSync(import.meta.dirname).filter((file) => /^[a-z-]+\.ts$/.test(file));
    expect(files.map((file) => file.slice(0, -".ts".length)).toSorted()).toEqual(
      Object.keys(examples).toSorted(),
    );
  });
});
