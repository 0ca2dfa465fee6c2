import { type CancelTimer, type Clock, sleep, systemClock } from "../base/runtime.ts";

/** Ids that are forgotten after one to two periods. */
interface AnnouncedIds {
  add(ids: Iterable<string>): void;
  has(id: string): boolean;
  /** Of these ids, the ones it has. */
  among(ids: readonly string[]): readonly string[];
}

// Bounds the memory, also under a flood of forged messages.
const mostIds = 100_000;

const none: readonly string[] = [];

/** If there are too many ids, it has all: those that there was no room for may be among them. */
const createAnnouncedIds = (periodMs: number, clock: Clock): AnnouncedIds => {
  let current = new Set<string>();
  let previous = new Set<string>();
  let begun = clock.monotonic();

  const forgetOld = (): void => {
    const passed = clock.monotonic() - begun;
    if (passed < periodMs) return;
    previous = passed < 2 * periodMs ? current : new Set();
    current = new Set();
    begun = clock.monotonic();
  };
  const includes = (ids: Set<string>, id: string): boolean => ids.has(id) || ids.size >= mostIds;
  const hasNow = (id: string): boolean => includes(current, id) || includes(previous, id);

  return {
    add: (ids) => {
      forgetOld();
      for (const id of ids) if (current.size < mostIds) current.add(id);
    },
    has: (id) => {
      forgetOld();
      return hasNow(id);
    },
    among: (ids) => {
      forgetOld();
      return current.size + previous.size === 0 ? none : ids.filter(hasNow);
    },
  };
};

/** Ids that are forgotten after one to two periods. */
interface EndedIds {
  add(ids: readonly string[]): void;
  /** Takes out the given ids, and returns those that were there. */
  take(ids: readonly string[]): readonly string[];
}

/** The ids of one period, in the lists they came in. */
interface EndedPeriod {
  readonly lists: (readonly string[])[];
  size: number;
  readonly index: Set<string>;
  /** How many of the lists are in `index`. */
  indexed: number;
}

const newPeriod = (): EndedPeriod => ({ lists: [], size: 0, index: new Set(), indexed: 0 });

/** Nearly no id that is added is ever taken. So a list is indexed only when an id is looked for while the list is there. */
const createEndedIds = (periodMs: number, clock: Clock): EndedIds => {
  let current = newPeriod();
  let previous = newPeriod();
  let begun = clock.monotonic();

  const forgetOld = (): void => {
    const passed = clock.monotonic() - begun;
    if (passed < periodMs) return;
    previous = passed < 2 * periodMs ? current : newPeriod();
    current = newPeriod();
    begun = clock.monotonic();
  };
  const indexOf = (period: EndedPeriod): Set<string> => {
    for (; period.indexed < period.lists.length; period.indexed += 1)
      for (const id of period.lists[period.indexed]!) period.index.add(id);
    return period.index;
  };

  return {
    add: (ids) => {
      forgetOld();
      if (ids.length === 0 || current.size + ids.length > mostIds) return;
      current.lists.push(ids);
      current.size += ids.length;
    },
    take: (ids) => {
      forgetOld();
      const [latest, earlier] = [indexOf(current), indexOf(previous)];
      return ids.filter((id) => {
        const wasLatest = latest.delete(id);
        return earlier.delete(id) || wasLatest;
      });
    },
  };
};

export interface AwaitedSequencesOptions {
  /** Sends ids that this process awaits to every process. */
  readonly announce: (ids: readonly string[]) => Promise<void>;
  /** Asks every process which ids it awaits. */
  readonly ask: () => Promise<void>;
  /** Sends the ends of these sequences to every process. */
  readonly publishEnded: (ids: readonly string[]) => Promise<void>;
  readonly clock?: Clock;
}

/**
 * The sequences that any process awaits. Only their ends are published: most sequences are awaited by no process, and a message
 * for each of them would cost a worker a sixth of its time.
 *
 * A process that begins to wait announces the id, and repeats it while it waits. An announcement may arrive after the end that
 * it is about, so each process keeps the ids that ended there in the last second, and publishes them then. A message that
 * cannot be sent delays the answer until the waiting process polls. The transport reports the lost connection.
 */
export interface AwaitedSequences {
  /** Of sequences that have ended, those to publish. */
  ended(ids: readonly string[]): readonly string[];
  /** Whether any process has announced this id. */
  has(id: string): boolean;
  /** Announces ids until the returned function is called. */
  wait(ids: readonly string[]): () => void;
  /** Another process, or this one, has announced these ids. */
  arrived(ids: readonly string[]): void;
  /** Another process asks which ids this one awaits. */
  asked(): void;
  /** This process has just begun to listen: announcements may have been missed, in both directions. */
  catchUp(): void;
  close(): void;
}

/** Announcements that follow within this time go out together. */
const mergeMs = 5;

// An announced id is kept for at least a minute, so that two lost announcements in a row do no harm.
const announcedMs = 60_000;
const repeatMs = 20_000;

/** An announcement that arrives later than this after the end is left to polling. */
const endedMs = 1_000;

export const createAwaitedSequences = ({
  announce,
  ask,
  publishEnded,
  clock = systemClock,
}: AwaitedSequencesOptions): AwaitedSequences => {
  const announced = createAnnouncedIds(announcedMs, clock);
  /** Ids that ended here, and were not published. */
  const unpublished = createEndedIds(endedMs, clock);
  /** The ids that this process awaits, and how often. */
  const own = new Map<string, number>();
  let toAnnounce = new Set<string>();
  let asks = false;
  let isSending = false;
  const closed = new AbortController();
  let cancelRepeat: CancelTimer | undefined;

  const sendAll = async (): Promise<void> => {
    isSending = true;
    while (!closed.signal.aborted && (asks || toAnnounce.size > 0)) {
      const ids = [...toAnnounce];
      const sends = asks ? [ask(), announce(ids)] : [announce(ids)];
      asks = false;
      toAnnounce = new Set();
      await Promise.allSettled(sends);
      await sleep(clock, mergeMs, closed.signal);
    }
    isSending = false;
  };
  const send = (): void => {
    if (!isSending) void sendAll();
  };
  const announceOwn = (): void => {
    for (const id of own.keys()) toAnnounce.add(id);
    send();
  };
  const repeat = (): void => {
    cancelRepeat = undefined;
    if (own.size === 0) return;
    announceOwn();
    cancelRepeat = clock.setTimer(repeat, repeatMs, { background: true });
  };

  return {
    ended: (ids) => {
      const awaited = announced.among(ids);
      unpublished.add(awaited.length === 0 ? ids : ids.filter((id) => !announced.has(id)));
      return awaited;
    },
    has: announced.has,
    wait: (ids) => {
      for (const id of ids) {
        own.set(id, (own.get(id) ?? 0) + 1);
        toAnnounce.add(id);
      }
      cancelRepeat ??= clock.setTimer(repeat, repeatMs, { background: true });
      send();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        for (const id of ids) {
          const others = own.get(id)! - 1;
          if (others > 0) own.set(id, others);
          else own.delete(id);
        }
      };
    },
    arrived: (ids) => {
      announced.add(ids);
      const missed = unpublished.take(ids);
      if (missed.length > 0) publishEnded(missed).catch(() => {});
    },
    asked: announceOwn,
    catchUp: () => {
      asks = true;
      announceOwn();
    },
    close: () => {
      closed.abort();
      cancelRepeat?.();
    },
  };
};
