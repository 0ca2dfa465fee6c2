import assert from "node:assert/strict";
import type { CountAheadCall } from "../../../store/contract/claims.ts";
import { randomUUID } from "node:crypto";
import type { ClaimScope, MaxAttempts } from "../../../store/contract/claims.ts";
import type { NewJob } from "../../../store/contract/creation.ts";
import { createRandom } from "../../random.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, retryAfter, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const rounds = 40;
const hourMs = 3_600_000;

interface Question {
  readonly requests: readonly ClaimScope[];
  readonly maxAttempts: MaxAttempts | undefined;
  readonly now: number;
}

/** What a claim would take, in its order. Nothing of it stays. */
const rehearseClaim = async (
  { adapter }: StateScenario,
  { requests, maxAttempts, now }: Question,
): Promise<string[]> => {
  const undo = new Error("a rehearsal");
  let ids: string[] = [];
  const rehearsal = adapter.runInTransaction(async (ctx) => {
    const jobs = await adapter.claimJobs({
      workerId: "worker",
      leaseToken: randomUUID(),
      leaseMs: hourMs,
      requests: requests.map((request) => ({ ...request, limit: 100 })),
      limit: 100,
      maxAttempts,
      now,
      ctx,
    });
    ids = jobs.map(({ id }) => id);
    throw undo;
  });
  await assert.rejects(rehearsal, (error) => error === undo);
  return ids;
};

/** Jobs of a few types in every state: due, due later, leased, given up, blocked, finished. */
const populate = async (scenario: StateScenario, random: () => number): Promise<string[]> => {
  const below = (limit: number): number => Math.floor(random() * limit);
  const typeNames = ["a", "b", "c"].map((name) => `${scenario.typeName}-${name}`);
  const draw = (): Partial<NewJob> => ({
    typeName: typeNames[below(3)]!,
    priority: below(3) - 1,
    schedule: { afterMs: below(2) * below(2_000) },
    maxAttempts: 1 + below(3),
    maxAttemptsGiven: below(2) === 0,
    leaseMs: below(3) === 0 ? 100 + below(1_000) : null,
  });
  const jobs = await scenario.startMany(Array.from({ length: 2 + below(8) }, draw));
  if (below(3) === 0) await scenario.startBlocked([jobs[0]!]);
  for (let claims = below(4), now = baseTime; claims > 0; claims -= 1, now += below(800)) {
    const taken = await scenario.claim({ now, limit: 1 + below(3), leaseMs: 100 + below(1_500) });
    for (const job of taken) {
      const ending = [completion, retryAfter(below(1_000)), undefined, undefined][below(4)];
      if (ending !== undefined) await scenario.end(job, ending, now);
    }
  }
  return typeNames;
};

export const describeRunnable = ({ test }: StateSuite): void => {
  test("claimJobs finds something exactly when nextRunnableIn says so", async (scenario) => {
    const random = createRandom(7);
    const below = (limit: number): number => Math.floor(random() * limit);
    for (let round = 0; round < rounds; round += 1) {
      const queue = `${scenario.queue}-${round}`;
      const typeNames = await populate(inQueue(scenario, queue), random);
      const requests = [
        { queue, typeNames: below(2) === 0 ? null : typeNames.filter(() => below(2) === 0) },
        { queue: `${queue}-empty`, typeNames: null },
      ];
      const maxAttempts = below(2) === 0 ? undefined : { [typeNames[below(3)]!]: 1 + below(4) };
      const now = baseTime + below(3_000);
      const question = { requests, maxAttempts, now };
      const next = await scenario.adapter.nextRunnableIn(question);
      const at = async (moment: number): Promise<number> =>
        (await rehearseClaim(scenario, { ...question, now: moment })).length;
      const story = `round ${round}, nextRunnableIn ${next}`;
      assert.equal((await at(now)) > 0, next === 0, story);
      if (next === null) assert.equal(await at(now + hourMs), 0, story);
      else if (next > 0) {
        assert.equal(await at(now + next - 1), 0, story);
        assert.ok((await at(now + next)) > 0, story);
      }
    }
  });

  test("countAhead is the place of a job in the order of claims", async (scenario) => {
    const random = createRandom(11);
    for (let round = 0; round < rounds / 2; round += 1) {
      const queue = `${scenario.queue}-${round}`;
      await populate(inQueue(scenario, queue), random);
      const now = baseTime + Math.floor(random() * 3_000);
      const requests = [{ queue, typeNames: null }];
      const claimed = await rehearseClaim(scenario, { requests, maxAttempts: undefined, now });
      const jobs = await scenario.reloadAll(claimed.map((id) => ({ id })));
      for (const [place, { id, status }] of jobs.entries()) {
        const ahead = await scenario.adapter.countAhead({ jobId: id, cap: 1_000, now });
        assert.equal(ahead, status === "pending" ? place : null, `round ${round}`);
      }
    }
  });

  test("countAhead counts only the types that it is asked for", async (scenario) => {
    const { adapter, typeName } = scenario;
    const [a, b, c] = ["a", "b", "c"].map((name) => `${typeName}-${name}`);
    await scenario.startMany([a, a, b, b, b].map((name) => ({ typeName: name!, sequenceTypeName: name! })));
    await scenario.claim({ typeNames: [a!], limit: 1, leaseMs: 1_000 });
    const { id: jobId } = await scenario.start({ typeName: c!, sequenceTypeName: c! }, baseTime + 1_500);
    const now = baseTime + 2_000;
    const count = (types: Pick<CountAheadCall, "typeNames" | "exceptTypeNames">) =>
      adapter.countAhead({ jobId, cap: 100, now, ...types });
    assert.equal(await count({}), 5);
    assert.equal(await count({ typeNames: [a!, c!] }), 2);
    assert.equal(await count({ exceptTypeNames: [a!] }), 3);
    assert.equal(await count({ typeNames: [a!, b!], exceptTypeNames: [b!] }), 2);
    assert.equal(await count({ typeNames: [] }), 0);
  });
};

/** The same scenario in another queue. */
const inQueue = (scenario: StateScenario, queue: string): StateScenario => ({
  ...scenario,
  queue,
  startMany: (jobs, now) =>
    scenario.startMany(
      jobs.map((job) => ({ queue, ...job })),
      now,
    ),
  startBlocked: (blockers, overrides, now) => scenario.startBlocked(blockers, { queue, ...overrides }, now),
  claim: (options) => scenario.claim({ queue, ...options }),
});
