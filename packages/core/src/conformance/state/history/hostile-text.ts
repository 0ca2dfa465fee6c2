import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { failure } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { endedAttempt, lostAttempt, withHistory, withNote } from "./history-scenario.ts";
import { maxAgeMs, newRollup, readAll } from "./report-fixture.ts";

const texts: Readonly<Record<string, string>> = {
  empty: "",
  quotes: `'"\`\\ '' "" \\' \\" $$ $1 ? :a @b`,
  SQL: "'); DROP TABLE job; --",
  patterns: "%_*[a-z]{}()",
  JSON: '{"a":[null,"\\u0001",1e400]}',
  "line ends": "a\nb\r\nc\td\u2028e\u000b",
  "many alphabets": "äß 日本 العربية \u{1f469}\u200d\u{1f680} e\u0301 \u{10fffd}",
  "control characters": "\u0001\u001b[31m\u007f\u009f\ufeff",
};

const long = "ü日\"'\\".repeat(6_554);

/** A store must keep every text as it is, and may limit the length of keys only. */
export const describeHostileText = ({ test }: StateSuite): void => {
  for (const [name, text] of [...Object.entries(texts), ["32 kB", long] as const]) {
    const short = text.slice(0, 100);

    test(
      `keeps ${name} in an attempt`,
      withHistory(async ({ start, run, end, attempts }) => {
        const job = await run(await start());
        const note = { workerId: short, deployment: short, error: text, log: text };
        await end(job, withNote(failure, job, note));
        assert.deepEqual(await attempts(job), [endedAttempt(job, "fail", note)]);
      }),
    );

    test(
      `keeps ${name} in the attempt of a lost lease`,
      withHistory(async ({ adapter, start, run, attempts }) => {
        const workerId = short;
        const job = await run(await start(), { leaseMs: 1_000, workerId, deployment: short });
        await adapter.reapExpiredLeases({ limit: 1_000, error: "{}", now: baseTime + 5_000 });
        assert.deepEqual(await attempts(job), [lostAttempt(job, { workerId, deployment: short })]);
      }),
    );

    test(
      `keeps ${name} in a report`,
      withHistory(async (scenario) => {
        const { history, queue, start, run, end } = scenario;
        const id = `${short}${randomUUID()}`;
        const reporter = { id, deployment: text, startedAt: baseTime, info: text };
        const buckets = [
          newRollup(scenario, {
            typeName: `type-${short}`,
            deployment: short,
            processId: id,
            counts: text,
          }),
        ];
        const fingerprint = randomUUID().replaceAll("-", "").slice(0, 16);
        const cause = { fingerprint, name: text, message: text, frame: text, deployment: text };
        const call = { reporter, buckets, causes: [cause], maxAgeMs, now: baseTime };
        await history.writeReport(call);
        await history.writeReport(call);
        assert.deepEqual(await readAll(scenario), buckets);
        const reporters = await history.listProcesses({ seenFrom: baseTime, limit: 1_000 });
        assert.deepEqual(
          reporters.find((each) => each.id === id),
          { ...reporter, seenAt: baseTime },
        );
        const job = await run(await start());
        await end(job, withNote(failure, job, { fingerprint }));
        const { causes } = await history.listCauses({ cap: 10, queues: [queue] });
        assert.deepEqual(causes, [{ ...cause, firstSeenAt: baseTime, lastSeenAt: baseTime }]);
        const put = [{ ...buckets[0]!, processId: "", counts: `${text}${text}` }];
        assert.equal(await history.rollUpBuckets({ remove: buckets, put }), true);
        assert.deepEqual(await readAll(scenario), put);
      }),
    );
  }

  test(
    "tells an empty deployment from none",
    withHistory(async ({ history, start, run, end, attempts }) => {
      for (const deployment of ["", null]) {
        const job = await run(await start());
        await end(job, withNote(failure, job, { deployment, error: deployment, log: deployment }));
        const [attempt] = await attempts(job);
        assert.deepEqual(
          [attempt?.deployment, attempt?.error, attempt?.log],
          [deployment, deployment, deployment],
        );
        const reporter = { id: randomUUID(), deployment, startedAt: baseTime, info: "" };
        await history.writeReport({ reporter, buckets: [], causes: [], maxAgeMs, now: baseTime });
        const reporters = await history.listProcesses({ seenFrom: baseTime, limit: 1_000 });
        assert.equal(reporters.find(({ id }) => id === reporter.id)?.deployment, deployment);
      }
    }),
  );
};
