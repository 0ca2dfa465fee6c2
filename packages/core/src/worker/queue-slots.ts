import type { ClaimRequest } from "../contracts/state-adapter.ts";
import { createFifo, type Fifo } from "./fifo.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { QueueSettings, WorkerContext } from "./worker-context.ts";

/** The slots of one queue, and the jobs that wait here for one. */
export interface QueueSlots {
  readonly queue: QueueSettings;
  readonly buffer: Fifo<HeldJob>;
  /** The types to claim; null for all. */
  readonly typeNames: readonly string[] | null;
  running: number;
}

/** The slots of all queues of a worker. Queues take turns, so that a full one cannot keep the others from the slots. */
export interface Slots {
  of(job: HeldJob): QueueSlots;
  push(job: HeldJob): void;
  /** The queue whose turn it is to start a job; undefined while no queue has both a job and a slot for it. */
  next(): QueueSlots | undefined;
  /** Takes the first job out of the buffer. */
  shift(slots: QueueSlots): HeldJob | undefined;
  /** Takes all jobs out of the buffers. */
  drain(): HeldJob[];
  /** How many queues could take more jobs, with `ahead` of them waiting here. */
  countWithRoom(ahead: number): number;
  /** What to claim for `free` places in all; empty when no queue has room. */
  claimRequests(free: number, ahead: number): readonly ClaimRequest[];
  readonly buffered: number;
}

const roomOf = ({ queue, running, buffer }: QueueSlots, ahead: number): number =>
  queue.concurrency - running + ahead - buffer.size;

export const createSlots = ({ settings, handlers }: WorkerContext): Slots => {
  const typeNames = [...handlers.keys()];
  const queues: readonly QueueSlots[] = settings.queues.map((queue) => ({
    queue,
    buffer: createFifo(),
    typeNames: queue.claimAllTypes ? null : typeNames,
    running: 0,
  }));
  const byName = new Map(queues.map((slots) => [slots.queue.name, slots]));
  let buffered = 0;
  let turn = 0;

  const of = ({ job }: HeldJob): QueueSlots => byName.get(job.queue)!;

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

  return {
    of,
    push: (job) => {
      of(job).buffer.push(job);
      buffered += 1;
    },
    next: () => {
      for (let asked = 0; asked < queues.length; asked++) {
        const slots = takeTurn();
        if (slots.running < slots.queue.concurrency && slots.buffer.size > 0) return slots;
      }
      return undefined;
    },
    shift,
    drain: () => {
      buffered = 0;
      return queues.flatMap(({ buffer }) => buffer.take(buffer.size));
    },
    countWithRoom: (ahead) => {
      let count = 0;
      for (const slots of queues) if (roomOf(slots, ahead) > 0) count += 1;
      return count;
    },
    claimRequests: (free, ahead) => {
      const wanting = queues
        .map((slots) => ({ slots, room: roomOf(slots, ahead) }))
        .filter(({ room }) => room > 0);
      if (wanting.length === 0) return [];
      // The order rotates, so that when there is little room every queue comes first in turn.
      const first = turn % wanting.length;
      const share = Math.ceil(free / wanting.length);
      takeTurn();
      return [...wanting.slice(first), ...wanting.slice(0, first)].map(({ slots, room }) => ({
        queue: slots.queue.name,
        typeNames: slots.typeNames,
        limit: Math.min(room, share),
      }));
    },
    get buffered() {
      return buffered;
    },
  };
};
