import { createFifo, type Fifo } from "../base/async.ts";
import type { Clock } from "../base/runtime.ts";
import type { ClaimRequest } from "../store/contract/claims.ts";
import { type BatchBuffer, createBatchBuffer } from "./batches/buffer.ts";
import type { BatchSettings, QueueSettings, WorkerContext } from "./context.ts";
import type { HeldJob } from "./held-jobs.ts";

/** How many jobs to hold in advance of free slots. */
export interface PrefetchEstimate {
  jobStarted(): void;
  jobFinished(): void;
  current(): number;
}

// Long enough to hide a round trip to the store, short enough that a job does not wait here while another worker idles.
const horizonMs = 50;

const windowMs = 20;
// The first jobs of a burst say little about the rest.
const shortestWindowMs = 5;

/**
 * Quick jobs deserve a buffer, slow ones do not: a job that waits behind an hour's work could have run elsewhere. So
 * the buffer holds what was lately finished in a few dozen milliseconds of work, and at most `limit`. Time in which
 * nothing ran does not count: it was spent waiting for the store, which is what the buffer is for.
 */
const createPrefetchEstimate = (clock: Clock, limit: number): PrefetchEstimate => {
  let running = 0;
  let busySince = 0;
  let busyMs = 0;
  let finished = 0;
  let perMs = 0;

  const measure = (): number => {
    const now = clock.monotonic();
    const busy = running > 0 ? busyMs + now - busySince : busyMs;
    if (busy < windowMs) return Math.max(perMs, finished / Math.max(busy, shortestWindowMs));
    perMs = finished / busy;
    finished = 0;
    busyMs = 0;
    busySince = now;
    return perMs;
  };

  return {
    jobStarted: () => {
      if (running === 0) busySince = clock.monotonic();
      running += 1;
    },
    jobFinished: () => {
      finished += 1;
      running -= 1;
      if (running === 0) busyMs += clock.monotonic() - busySince;
    },
    current: () => Math.min(limit, Math.floor(measure() * horizonMs)),
  };
};

/** The slots of one queue, and the jobs that wait here for one. */
export interface QueueSlots {
  readonly queue: QueueSettings;
  /** Jobs that run one at a time. */
  readonly buffer: Fifo<HeldJob>;
  /** The types of these, to be claimed; null for all types there are. */
  readonly typeNames: readonly string[] | null;
  /** The types that run in batches. */
  readonly batches: readonly BatchSlots[];
  readonly prefetch: PrefetchEstimate;
  /** How many jobs that run one at a time to hold in advance of free slots, when last reckoned. */
  ahead: number;
  /** How many calls of handlers are running. */
  running: number;
  /** Whose turn it is: that of the jobs that run one at a time, or that of a batch type. */
  turn: number;
}

/** The jobs of one queue and batch type that wait here for a slot. */
export interface BatchSlots {
  readonly queue: QueueSettings;
  readonly typeName: string;
  readonly settings: BatchSettings;
  readonly buffer: BatchBuffer;
  readonly prefetch: PrefetchEstimate;
  /** How many jobs to hold in advance of free slots, when last reckoned. */
  ahead: number;
}

/** What there is room for. */
export interface Capacity {
  /** Slots that are free, over all queues. */
  readonly calls: number;
  /** How many jobs that run one at a time could be taken on; 0 while asking for them is not worth a round trip. */
  readonly jobs: number;
  /** Outcomes that the store is slow to write. */
  readonly backlog: number;
}

/** The slots of all queues of a worker. Queues take turns, so that a full one cannot keep the others from the slots. */
export interface Slots {
  of(job: HeldJob): QueueSlots;
  push(job: HeldJob): void;
  /** The queue whose turn it is to start something; undefined while no queue has both jobs and a slot for them. */
  next(): QueueSlots | undefined;
  /** The batch type whose turn it is in this queue; undefined if it is that of a job that runs by itself. */
  nextBatch(slots: QueueSlots): BatchSlots | undefined;
  /** Takes the first job that runs by itself out of the buffer. */
  shift(slots: QueueSlots): HeldJob | undefined;
  takeBatch(slots: BatchSlots): readonly HeldJob[];
  /** The batch type of a job; undefined for one that runs by itself. */
  batchOf(job: HeldJob): BatchSlots | undefined;
  /** Takes all jobs out of the buffers. */
  drain(): HeldJob[];
  /** Reckons anew how many jobs to hold in advance of free slots. Returns how many that are of those that run one at a time. */
  updatePrefetchTarget(): number;
  /** How many queues, and batch types of queues, could take more jobs. */
  countWithRoom(room: Capacity): number;
  /** What to claim; empty when nothing has room. */
  claimRequests(room: Capacity): readonly ClaimRequest[];
  readonly hasBatches: boolean;
  /** Jobs that run one at a time. */
  readonly buffered: number;
  readonly bufferedInBatches: number;
}

const freeSlots = ({ queue, running, buffer, ahead }: QueueSlots): number =>
  queue.concurrency - running + ahead - buffer.size;

/** How many calls of handlers could begin. */
const callsOf = ({ queue, running }: QueueSlots, { calls }: Capacity): number =>
  Math.max(0, Math.min(calls, queue.concurrency - running));

/** How many jobs to claim for so many calls of a batch type. Half a buffer is worth a round trip. */
const batchRoomOf = ({ buffer, settings, ahead }: BatchSlots, calls: number, { backlog }: Capacity): number =>
  calls === 0 && buffer.size > ahead / 2 ? 0 : calls * settings.maxSize + ahead - buffer.size - backlog;

/** Whether jobs that run one at a time are worth a claim: there is a slot for one, or half a buffer of them. */
const wantsSingles = (slots: QueueSlots, room: Capacity): boolean =>
  freeSlots(slots) > 0 && (slots.buffer.size <= slots.ahead / 2 || callsOf(slots, room) > slots.buffer.size);

/** `onBatchReady` is called when a batch has waited long enough for more jobs. */
export const createSlots = (worker: WorkerContext, onBatchReady: () => void): Slots => {
  const { settings, handlers, engine } = worker;
  const singleTypes = [...handlers.keys()].filter((typeName) => !handlers.get(typeName)!.batch);

  const createBatches = (queue: QueueSettings): BatchSlots[] =>
    [...handlers].flatMap(([typeName, { batch }]) =>
      batch === undefined
        ? []
        : {
            queue,
            typeName,
            settings: batch,
            buffer: createBatchBuffer(worker, batch, onBatchReady),
            prefetch: createPrefetchEstimate(engine.runtime.clock, settings.prefetch),
            ahead: 0,
          },
    );

  const queues: readonly QueueSlots[] = settings.queues.map((queue) => ({
    queue,
    buffer: createFifo(),
    typeNames: queue.claimAllTypes ? null : singleTypes,
    batches: createBatches(queue),
    prefetch: createPrefetchEstimate(engine.runtime.clock, settings.prefetch),
    ahead: 0,
    running: 0,
    turn: 0,
  }));
  const byName = new Map(queues.map((slots) => [slots.queue.name, slots]));
  const allBatches = queues.flatMap(({ batches }) => batches);
  const hasBatches = allBatches.length > 0;
  let buffered = 0;
  let turn = 0;

  const of = ({ job }: HeldJob): QueueSlots => byName.get(job.queue)!;

  const batchOf = (job: HeldJob): BatchSlots | undefined =>
    hasBatches ? of(job).batches.find(({ typeName }) => typeName === job.job.typeName) : undefined;

  const takeTurn = (): QueueSlots => {
    const slots = queues[turn]!;
    turn = (turn + 1) % queues.length;
    return slots;
  };

  const shift = ({ buffer }: QueueSlots): HeldJob | undefined => {
    const job = buffer.shift();
    if (job) buffered -= 1;
    return job;
  };

  const hasWork = ({ buffer, batches }: QueueSlots): boolean =>
    buffer.size > 0 || batches.some((batch) => batch.buffer.isReady());

  const hasRoomForSingles = (slots: QueueSlots, room: Capacity): boolean =>
    room.jobs > 0 && slots.typeNames?.length !== 0 && wantsSingles(slots, room);

  const hasRoomForBatch = (slots: QueueSlots, batch: BatchSlots, room: Capacity): boolean =>
    batchRoomOf(batch, callsOf(slots, room), room) > 0;

  const updatePrefetchTarget = (): number => {
    for (const batch of allBatches) batch.ahead = batch.prefetch.current();
    let ahead = 0;
    for (const slots of queues) ahead += slots.ahead = slots.prefetch.current();
    return Math.min(settings.prefetch, ahead);
  };

  /** Calls `found` for each queue, without a batch, and for each batch type that has room. */
  const findRoom = (
    room: Capacity,
    found: (slots: QueueSlots, batch: BatchSlots | undefined) => void,
  ): void => {
    for (const slots of queues) {
      const { batches, typeNames } = slots;
      if (typeNames === null) {
        // One request brings the jobs of all types, so that none is asked for twice.
        const hasRoom = (batch: BatchSlots): boolean => hasRoomForBatch(slots, batch, room);
        if (hasRoomForSingles(slots, room) || batches.some(hasRoom)) found(slots, undefined);
        continue;
      }
      if (hasRoomForSingles(slots, room)) found(slots, undefined);
      for (const batch of batches) if (hasRoomForBatch(slots, batch, room)) found(slots, batch);
    }
  };

  return {
    of,
    batchOf,
    push: (job) => {
      const batch = batchOf(job);
      if (batch) {
        batch.buffer.push(job);
        return;
      }
      of(job).buffer.push(job);
      buffered += 1;
    },
    next: () => {
      for (let asked = 0; asked < queues.length; asked++) {
        const slots = takeTurn();
        if (slots.running < slots.queue.concurrency && hasWork(slots)) return slots;
      }
      return undefined;
    },
    nextBatch: (slots) => {
      const { batches, buffer } = slots;
      for (let asked = 0; asked <= batches.length; asked++) {
        const batch = batches[slots.turn];
        slots.turn = (slots.turn + 1) % (batches.length + 1);
        if (batch ? batch.buffer.isReady() : buffer.size > 0) return batch;
      }
      return undefined;
    },
    shift,
    takeBatch: ({ buffer }) => buffer.take(),
    drain: () => {
      buffered = 0;
      return queues.flatMap(({ buffer, batches }) => [
        ...buffer.take(buffer.size),
        ...batches.flatMap((batch) => batch.buffer.drain()),
      ]);
    },
    updatePrefetchTarget,
    countWithRoom: (room) => {
      let count = 0;
      findRoom(room, () => (count += 1));
      return count;
    },
    claimRequests: (room) => {
      const wanting: { slots: QueueSlots; batch: BatchSlots | undefined }[] = [];
      findRoom(room, (slots, batch) => wanting.push({ slots, batch }));
      if (wanting.length === 0) return [];
      // The order rotates, so that when there is little room every queue comes first in turn.
      const first = turn % wanting.length;
      const share = Math.ceil(room.jobs / wanting.length);
      takeTurn();
      const forBatch = (slots: QueueSlots, batch: BatchSlots): number =>
        Math.max(1, batchRoomOf(batch, Math.ceil(callsOf(slots, room) / wanting.length), room));
      return [...wanting.slice(first), ...wanting.slice(0, first)].map(({ slots, batch }) => {
        const queue = slots.queue.name;
        if (batch) return { queue, typeNames: [batch.typeName], limit: forBatch(slots, batch) };
        let limit = Math.min(freeSlots(slots), share);
        if (slots.typeNames === null) for (const each of slots.batches) limit += forBatch(slots, each);
        return { queue, typeNames: slots.typeNames, limit: Math.max(1, limit) };
      });
    },
    hasBatches,
    get buffered() {
      return buffered;
    },
    get bufferedInBatches() {
      return allBatches.reduce((sum, { buffer }) => sum + buffer.size, 0);
    },
  };
};
