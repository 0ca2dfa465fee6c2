import { createFifo, type Fifo } from "../base/async.ts";
import type { ClaimRequest } from "../store/contract/claims.ts";
import { type BatchBuffer, createBatchBuffer } from "./batches/buffer.ts";
import type { BatchSettings, QueueSettings, WorkerContext } from "./context.ts";
import type { HeldJob } from "./held-jobs.ts";
import {
  createPace,
  createPrefetchEstimate,
  createStaleJobs,
  type Pace,
  type PrefetchEstimate,
  type StaleJobs,
} from "./prefetch.ts";

/** The slots of one queue, and the jobs that wait here for one. */
interface QueueSlots {
  readonly queue: QueueSettings;
  /** Jobs that run one at a time. */
  readonly buffer: Fifo<HeldJob>;
  /** The types of these, to be claimed; null for all types there are. */
  readonly typeNames: readonly string[] | null;
  /** The types that run in batches. */
  readonly batches: readonly BatchSlots[];
  /** By type; undefined where a claim has no choice between types. */
  readonly paces: ReadonlyMap<string, Pace> | undefined;
  readonly prefetch: PrefetchEstimate;
  readonly stale: StaleJobs;
  /** Whether the jobs of the last claim count against a limit. */
  limited: boolean;
  /** How many jobs that run one at a time to hold in advance of free slots, by the last estimate. */
  prefetchTarget: number;
  /** Calls of handlers that are running. */
  running: number;
  /** Where the next call comes from: the jobs that run one at a time, or a batch type. */
  turn: number;
}

/** The jobs of one queue and batch type that wait here for a slot. */
interface BatchSlots {
  readonly typeName: string;
  readonly settings: BatchSettings;
  readonly buffer: BatchBuffer;
  readonly prefetch: PrefetchEstimate;
  /** Of the batch that is ready. */
  readonly stale: StaleJobs;
  limited: boolean;
  /** How many jobs to hold in advance of free slots, by the last estimate. */
  prefetchTarget: number;
}

/** What there is room for. */
interface Capacity {
  /** Slots that are free, over all queues. */
  readonly calls: number;
  /** How many jobs that run one at a time to claim; 0 while a claim is not worth a round trip. */
  readonly jobs: number;
  /** Outcomes that the store is slow to write. */
  readonly backlog: number;
}

/** Where the jobs of the next call come from. */
export type NextCall = QueueSlots | BatchSlots;

export interface Claim {
  readonly requests: readonly ClaimRequest[];
  readonly limit: number;
  /** How many queues, and batch types of queues, the requests are for. */
  readonly places: number;
}

/**
 * The slots of a worker and the jobs that wait for one: what may start, and what to claim. Queues take turns, so that a full
 * queue cannot keep the others from the slots. `uncommitted` outcomes and `suspects` are held elsewhere, and also count.
 */
export interface Slots {
  push(job: HeldJob): void;
  /** What may start; undefined while no queue has both jobs and a slot for them. */
  next(): NextCall | undefined;
  /** Takes the jobs of a call out of their buffer. */
  take(next: NextCall): readonly HeldJob[];
  /** A call with these jobs occupies a slot. */
  begin(jobs: readonly HeldJob[]): void;
  jobFinished(job: HeldJob): void;
  /** The call that began with this job is over. */
  end(first: HeldJob): void;
  /** Takes all jobs out of the buffers. */
  drain(): HeldJob[];
  /** Called every `staleCheckMs` while jobs are buffered: takes out the jobs that another worker could have run by now. */
  takeStale(): HeldJob[];
  /** How many queues, and batch types of queues, have enough room to be worth a claim. */
  countWithRoom(uncommitted: number, suspects: number): number;
  /** What to claim; no requests while nothing has room. */
  claim(uncommitted: number, suspects: number): Claim;
  readonly buffered: number;
}

const freeSlots = ({ queue, running, buffer, prefetchTarget }: QueueSlots): number =>
  queue.concurrency - running + prefetchTarget - buffer.size;

/** How many calls of handlers could begin. */
const callsOf = ({ queue, running }: QueueSlots, { calls }: Capacity): number =>
  Math.max(0, Math.min(calls, queue.concurrency - running));

/** How many jobs to claim for this many calls of a batch type. Half a buffer is worth a round trip. */
const batchRoomOf = (
  { buffer, settings, prefetchTarget }: BatchSlots,
  calls: number,
  { backlog }: Capacity,
): number =>
  calls === 0 && buffer.size > prefetchTarget / 2
    ? 0
    : calls * settings.maxSize + prefetchTarget - buffer.size - backlog;

/** Whether jobs that run one at a time are worth a claim: there is a slot for one, or half a buffer of them. */
const hasRoomForSingles = (slots: QueueSlots, room: Capacity): boolean =>
  room.jobs > 0 &&
  slots.typeNames?.length !== 0 &&
  freeSlots(slots) > 0 &&
  (slots.buffer.size <= slots.prefetchTarget / 2 || callsOf(slots, room) > slots.buffer.size);

/**
 * The requests for this many jobs of a queue that run one at a time. In advance of free slots, slow types are not claimed on the
 * pace of quick ones: of all types, as many as there are slots that are free or soon will be; the rest only of quick types.
 */
const requestsFor = (slots: QueueSlots, calls: number, limit: number): ClaimRequest[] => {
  const { queue, typeNames, paces } = slots;
  const ofAll = { queue: queue.name, typeNames, limit };
  if (!paces || limit <= calls) return [ofAll];
  const quick: string[] = [];
  let soonFree = calls;
  for (const [typeName, { isSlow, running, waiting }] of paces) {
    if (!isSlow) quick.push(typeName);
    soonFree += isSlow ? -waiting : running;
  }
  if (quick.length === paces.size || quick.length === 0 || limit <= soonFree) return [ofAll];
  if (soonFree <= 0) return [{ ...ofAll, typeNames: quick }];
  return [
    { ...ofAll, limit: soonFree },
    { ...ofAll, typeNames: quick, limit: limit - soonFree },
  ];
};

export const nothingToClaim: Claim = { requests: [], limit: 0, places: 0 };

/** `onBatchReady` is called when a batch has waited long enough for more jobs. */
export const createSlots = (worker: WorkerContext, onBatchReady: () => void): Slots => {
  const { settings, handlers, engine } = worker;
  const { concurrency, commitBatchSize, prefetch } = settings;
  const singleTypes = [...handlers.keys()].filter((typeName) => !handlers.get(typeName)!.batch);

  const createBatches = (): BatchSlots[] =>
    [...handlers].flatMap(([typeName, { batch }]) =>
      batch === undefined
        ? []
        : {
            typeName,
            settings: batch,
            buffer: createBatchBuffer(worker, batch, onBatchReady),
            prefetch: createPrefetchEstimate(engine.runtime.clock, prefetch),
            prefetchTarget: 0,
            stale: createStaleJobs(),
            limited: false,
          },
    );

  const queues: readonly QueueSlots[] = settings.queues.map((queue) => ({
    queue,
    buffer: createFifo(),
    typeNames: queue.claimAllTypes ? null : singleTypes,
    batches: createBatches(),
    paces:
      queue.claimAllTypes || singleTypes.length < 2
        ? undefined
        : new Map(singleTypes.map((typeName) => [typeName, createPace()])),
    prefetch: createPrefetchEstimate(engine.runtime.clock, prefetch),
    prefetchTarget: 0,
    stale: createStaleJobs(),
    limited: false,
    running: 0,
    turn: 0,
  }));
  const byName = new Map(queues.map((slots) => [slots.queue.name, slots]));
  const allBatches = queues.flatMap(({ batches }) => batches);
  const hasBatches = allBatches.length > 0;
  /** Calls of handlers that are running. */
  let calls = 0;
  /** Buffered jobs that run one at a time. */
  let singles = 0;
  let turn = 0;
  /** Of jobs that run one at a time, over all queues. */
  let prefetchTarget = 0;

  const queueOf = ({ job }: HeldJob): QueueSlots => byName.get(job.queue)!;

  const batchOf = (job: HeldJob): BatchSlots | undefined =>
    hasBatches ? queueOf(job).batches.find(({ typeName }) => typeName === job.job.typeName) : undefined;

  const takeTurn = (): QueueSlots => {
    const slots = queues[turn]!;
    turn = (turn + 1) % queues.length;
    return slots;
  };

  const countWaiting = (held: HeldJob, change: 1 | -1): void => {
    const pace = queueOf(held).paces?.get(held.job.typeName);
    if (pace) pace.waiting += change;
  };

  const takeSingles = ({ buffer, stale }: QueueSlots, count: number): HeldJob[] => {
    const taken = buffer.take(count);
    singles -= count;
    stale.taken(count);
    for (const job of taken) countWaiting(job, -1);
    return taken;
  };

  const takeBatches = ({ buffer, stale }: BatchSlots): HeldJob[] => {
    stale.taken(1);
    return buffer.drain();
  };

  /** The batch type whose turn it is in this queue; else the jobs that run one at a time. */
  const nextIn = (slots: QueueSlots): NextCall | undefined => {
    const { batches, buffer } = slots;
    for (let asked = 0; asked <= batches.length; asked++) {
      const batch = batches[slots.turn];
      slots.turn = (slots.turn + 1) % (batches.length + 1);
      if (batch ? batch.buffer.isReady() : buffer.size > 0) return batch ?? slots;
    }
    return undefined;
  };

  const updatePrefetchTargets = (): void => {
    for (const batch of allBatches) batch.prefetchTarget = batch.prefetch.current(batch.limited);
    let sum = 0;
    for (const slots of queues) sum += slots.prefetchTarget = slots.prefetch.current(slots.limited);
    prefetchTarget = Math.min(prefetch, sum);
  };

  // Half a buffer is worth a round trip; a single free slot is not while there is work in hand.
  const hasEnough = (suspects: number): boolean =>
    singles + suspects > prefetchTarget / 2 && calls >= concurrency;

  const findRoom = (uncommitted: number, suspects: number): Capacity => {
    updatePrefetchTargets();
    // A store that is slow to write holds back claims, so that leases do not pile up behind it.
    const backlog = Math.max(0, uncommitted - commitBatchSize);
    const free = concurrency - calls;
    // Jobs that wait although slots are free wait for slots of their own queue, and must not take these from the others.
    const ahead = Math.max(0, prefetchTarget - singles - suspects);
    return { calls: free, jobs: hasEnough(suspects) ? 0 : free + ahead - backlog, backlog };
  };

  /** Calls `found` for each queue, without a batch, and for each batch type that has room. */
  const eachWithRoom = (
    room: Capacity,
    found: (slots: QueueSlots, batch: BatchSlots | undefined) => void,
  ): void => {
    for (const slots of queues) {
      const { batches, typeNames } = slots;
      const hasRoom = (batch: BatchSlots): boolean => batchRoomOf(batch, callsOf(slots, room), room) > 0;
      if (typeNames === null) {
        // One request brings the jobs of all types, so that none is asked for twice.
        if (hasRoomForSingles(slots, room) || batches.some(hasRoom)) found(slots, undefined);
        continue;
      }
      if (hasRoomForSingles(slots, room)) found(slots, undefined);
      for (const batch of batches) if (hasRoom(batch)) found(slots, batch);
    }
  };

  return {
    push: (job) => {
      const batch = batchOf(job);
      const place = batch ?? queueOf(job);
      place.buffer.push(job);
      place.limited = job.job.limited;
      if (batch) return;
      singles += 1;
      countWaiting(job, 1);
    },
    next: () => {
      if (calls >= concurrency) return undefined;
      for (let asked = 0; asked < queues.length; asked++) {
        const slots = takeTurn();
        if (slots.running >= slots.queue.concurrency) continue;
        const next = hasBatches ? nextIn(slots) : slots.buffer.size > 0 && slots;
        if (next) return next;
      }
      return undefined;
    },
    take: (next) => {
      next.stale.taken(1);
      if (hasBatches && "typeName" in next) return next.buffer.take();
      singles -= 1;
      const job = (next as QueueSlots).buffer.shift()!;
      countWaiting(job, -1);
      return [job];
    },
    begin: (jobs) => {
      const slots = queueOf(jobs[0]!);
      const { prefetch: estimate } = batchOf(jobs[0]!) ?? slots;
      calls += 1;
      slots.running += 1;
      slots.paces?.get(jobs[0]!.job.typeName)?.jobStarted();
      for (let started = 0; started < jobs.length; started++) estimate.jobStarted();
    },
    jobFinished: (job) => {
      const slots = queueOf(job);
      (batchOf(job) ?? slots).prefetch.jobFinished();
      slots.paces?.get(job.job.typeName)?.jobFinished(job.ranMs!);
    },
    end: (first) => {
      calls -= 1;
      queueOf(first).running -= 1;
    },
    drain: () =>
      queues.flatMap((slots) => [
        ...takeSingles(slots, slots.buffer.size),
        ...slots.batches.flatMap(takeBatches),
      ]),
    takeStale: () => {
      const taken: HeldJob[] = [];
      for (const slots of queues) {
        for (const pace of slots.paces?.values() ?? []) pace.check();
        const count = slots.stale.check(slots.buffer.size);
        if (count === 0) continue;
        taken.push(...takeSingles(slots, count));
        slots.prefetch.reset();
      }
      for (const batch of allBatches) {
        if (batch.stale.check(batch.buffer.isReady() ? 1 : 0) === 0) continue;
        taken.push(...takeBatches(batch));
        batch.prefetch.reset();
      }
      if (singles === 0)
        for (const { paces } of queues) for (const pace of paces?.values() ?? []) pace.endChecks();
      return taken;
    },
    countWithRoom: (uncommitted, suspects) => {
      // Called after every job: while there is enough by the last estimate, a new one is not worth its cost.
      if (hasEnough(suspects) && !hasBatches) return 0;
      let count = 0;
      eachWithRoom(findRoom(uncommitted, suspects), () => (count += 1));
      return count;
    },
    claim: (uncommitted, suspects) => {
      const room = findRoom(uncommitted, suspects);
      const wanting: { slots: QueueSlots; batch: BatchSlots | undefined }[] = [];
      eachWithRoom(room, (slots, batch) => wanting.push({ slots, batch }));
      if (wanting.length === 0) return nothingToClaim;
      // The order rotates, so that when there is little room every queue comes first in turn.
      const first = turn % wanting.length;
      const share = Math.ceil(room.jobs / wanting.length);
      takeTurn();
      const forBatch = (slots: QueueSlots, batch: BatchSlots): number =>
        Math.max(1, batchRoomOf(batch, Math.ceil(callsOf(slots, room) / wanting.length), room));
      const requests = [...wanting.slice(first), ...wanting.slice(0, first)].flatMap(({ slots, batch }) => {
        const queue = slots.queue.name;
        if (batch) return { queue, typeNames: [batch.typeName], limit: forBatch(slots, batch) };
        let limit = Math.min(freeSlots(slots), share);
        if (slots.typeNames === null) for (const each of slots.batches) limit += forBatch(slots, each);
        return requestsFor(slots, callsOf(slots, room), Math.max(1, limit));
      });
      const limit = hasBatches ? requests.reduce((sum, request) => sum + request.limit, 0) : room.jobs;
      return { requests, limit, places: wanting.length };
    },
    get buffered() {
      return singles + allBatches.reduce((sum, { buffer }) => sum + buffer.size, 0);
    },
  };
};
