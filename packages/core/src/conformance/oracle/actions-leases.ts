import assert from "node:assert/strict";
import type { ClaimRequest, HeldLease, MaxAttempts } from "../../store/contract/claims.ts";
import { queues, typeNames } from "./actions-start.ts";
import { addLost } from "./attempts.ts";
import { assertSameJob } from "./compare.ts";
import type { Draw } from "./draw.ts";
import { followLimitedClaim } from "./limit-claims.ts";
import { limitedQueue } from "./limit-groups.ts";
import { claim, hasRunOut, throttledBy, refusalOf, runnable } from "./leases.ts";
import { reap } from "./interventions.ts";
import { allJobs, type ModelJob } from "./store.ts";
import { assertSameSet } from "./compare.ts";
import type { Action, World } from "./world.ts";

const drawRequests = ({ about }: World, draw: Draw): ClaimRequest[] =>
  draw.some(about === "jobs" ? queues : [limitedQueue], 2).map((queue) => ({
    queue,
    typeNames: draw.pick([null, ["type-a"], typeNames, ["type-b", "nobody's type"]]),
    limit: draw.pick([5, 1, 2, 0]),
  }));

export const fingerprints = ["00000000000000aa", "00000000000000bb"] as const;

/** Mostly none. */
const drawMaxAttempts = (draw: Draw): MaxAttempts | undefined =>
  draw.pick([undefined, undefined, { "type-a": 3 }, { "type-a": 1, "type-b": 5 }]);

type ClaimCall = NonNullable<World["lastClaim"]>;

const performClaim = async (world: World, call: ClaimCall, ctx: object | undefined): Promise<void> => {
  const { adapter, model, now } = world;
  world.note("claimJobs", call);
  const { requests, limit, isRepeat, maxAttempts } = call;
  const held =
    isRepeat === true ? requests.flatMap((request) => throttledBy(model, call.leaseToken, request, now)) : [];
  const offered = requests.map((request) => runnable(model, request, now, maxAttempts));

  const claimed = await adapter.claimJobs({ ...call, now, ctx });

  const before = claimed.slice(0, held.length);
  assertSameSet(
    before.map(({ id }) => ({ id })),
    held.map(({ id }) => ({ id })),
    "jobs the token holds already",
  );
  for (const job of before) assertSameJob(job, model.jobs.get(job.id)!);

  const fresh = claimed.slice(held.length);
  const left = limit - held.length - fresh.length;
  for (const request of requests) {
    if (request.queue !== limitedQueue) continue;
    const taken = fresh.filter(({ queue }) => queue === limitedQueue);
    const room = Math.max(0, request.limit - held.filter(({ queue }) => queue === limitedQueue).length);
    assert.ok(taken.length <= room, `${taken.length} jobs of ${limitedQueue}, ${room} were asked for`);
    const isOneLeft = await followLimitedClaim(world, request, call, taken, ctx);
    if (left > 0 && taken.length < room) assert.ok(!isOneLeft, `a job of ${limitedQueue} was left`);
    for (const { id } of taken) world.leases.push({ jobId: id, leaseToken: call.leaseToken });
  }
  const capacities = requests.map((request, index) => {
    const heldHere = held.filter(({ queue }) => queue === request.queue).length;
    if (request.queue === limitedQueue) return fresh.filter(({ queue }) => queue === limitedQueue).length;
    const capacity = Math.max(0, Math.min(request.limit - heldHere, offered[index]!.length));
    const taken = fresh.filter(({ queue }) => queue === request.queue).map(({ id }) => id);
    assert.ok(taken.length <= capacity, `${taken.length} jobs of ${request.queue}, ${capacity} were due`);
    const first = offered[index]!.slice(0, taken.length).map(({ id }) => id);
    assert.deepEqual(taken, first, `the first jobs of ${request.queue}`);
    return capacity;
  });
  // Which request goes short when the call's own limit is the tighter one is the adapter's choice.
  const due = capacities.reduce((sum, capacity) => sum + capacity, 0);
  assert.equal(fresh.length, Math.max(0, Math.min(due, limit - held.length)), "how many were claimed");

  for (const row of fresh) {
    if (row.queue === limitedQueue) continue;
    const job = model.jobs.get(row.id)!;
    if (job.status === "running") addLost(model, job);
    claim(job, call, now);
    assertSameJob(row, job);
    world.leases.push({ jobId: job.id, leaseToken: call.leaseToken });
  }
  world.lastClaim = call;
};

export const claimSome: Action = async (world, draw, ctx) => {
  const requests = drawRequests(world, draw);
  const workerId = draw.pick(["worker-1", "worker-2"]);
  const leaseMs = draw.pick([3_000, 1_000, 10_000]);
  const limit = draw.pick([10, 10, 1, 3]);
  const deployment = draw.pick([null, "v1", "v2"]);
  const maxAttempts = drawMaxAttempts(draw);
  await performClaim(
    world,
    { workerId, leaseToken: world.createId(), leaseMs, deployment, requests, limit, maxAttempts },
    ctx,
  );
};

export const claimAgain: Action = async (world, _draw, ctx) => {
  if (world.lastClaim !== undefined) await performClaim(world, { ...world.lastClaim, isRepeat: true }, ctx);
};

/** Leases of different jobs: mostly the latest of a job, sometimes an older one or one that never was. */
export const drawLeases = ({ leases, model, createId }: World, draw: Draw, most: number): HeldLease[] => {
  const running = allJobs(model)
    .filter(({ status }) => status === "running")
    .map(({ id, leaseToken }) => ({ jobId: id, leaseToken: leaseToken! }));
  const pools = [running, leases, leases].filter((pool) => pool.length > 0);
  if (pools.length === 0) return [];
  const drawn = draw.some(draw.pick(pools), most).map((lease) => {
    const forged = draw.below(12);
    if (forged === 11) return { ...lease, leaseToken: createId() };
    return forged === 10 ? { ...lease, jobId: createId() } : lease;
  });
  return [...new Map(drawn.map((lease) => [lease.jobId, lease])).values()];
};

export const renew: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const leases = drawLeases(world, draw, 3).map((lease) => ({
    ...lease,
    leaseMs: draw.pick([3_000, 1_000]),
    progress: draw.pick([undefined, "50"]),
    lastAttempt: draw.pick([undefined, undefined, undefined, 1, 2]),
  }));
  if (leases.length === 0) return;
  world.note("renewLeases", leases);
  const results = await adapter.renewLeases({ leases, now, ctx });
  const expected = leases.map(({ jobId, leaseToken, leaseMs, progress, lastAttempt }) => {
    const job = model.jobs.get(jobId);
    const refusal = refusalOf(job, leaseToken, now);
    if (refusal !== undefined) return refusal;
    Object.assign(job!, { leasedUntil: now + leaseMs, progress: progress ?? job!.progress });
    if (lastAttempt !== undefined) {
      job!.attempt = lastAttempt;
      if (job!.expiredLeases > 0) job!.expiredLeases *= -1;
    }
    return { kind: "renewed", leasedUntil: now + leaseMs };
  });
  assert.deepEqual(results, expected);
};

export const reapSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limit = draw.pick([100, 1]);
  const maxAttempts = drawMaxAttempts(draw);
  const lost = { error: "lost", fingerprint: draw.pick([undefined, ...fingerprints]), maxAttempts };
  world.note("reapExpiredLeases", { limit, ...lost });
  const expired = new Set(allJobs(model).filter((job) => hasRunOut(job, now)));
  const results = await adapter.reapExpiredLeases({ limit, ...lost, now, ctx });
  assert.equal(results.length, Math.min(limit, expired.size), "how many were reaped");
  for (const { job: row, previouslyLeasedBy, cascaded } of results) {
    const job = model.jobs.get(row.id) as ModelJob;
    assert.ok(expired.delete(job), `job ${row.id} had a lease that had run out`);
    assert.equal(previouslyLeasedBy, job.leasedBy);
    assertSameSet(cascaded, reap(model, job, lost, now), "cascaded");
    assertSameJob(row, job);
  }
};
