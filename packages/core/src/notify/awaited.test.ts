import { describe, expect, it } from "vitest";
import { type AwaitedSequences, createAwaitedSequences } from "./awaited.ts";
import { createManualClock, type ManualClock } from "../testing/manual-clock.ts";

interface Process {
  readonly sequences: AwaitedSequences;
  /** Ids whose ends it has published. */
  readonly published: string[];
}

interface Fleet {
  readonly clock: ManualClock;
  /** Announcements and questions, in the order in which they were sent. */
  readonly sent: string[];
  start(): Process;
  /** Messages sent meanwhile are lost. */
  cut(): void;
  mend(): void;
}

const createFleet = (): Fleet => {
  const clock = createManualClock();
  const processes: AwaitedSequences[] = [];
  const sent: string[] = [];
  let isCut = false;
  const toAll = (text: string, receive: (process: AwaitedSequences) => void): Promise<void> => {
    if (isCut) return Promise.reject(new Error("no broker"));
    sent.push(text);
    for (const process of processes) receive(process);
    return Promise.resolve();
  };
  return {
    clock,
    sent,
    start: () => {
      const published: string[] = [];
      const sequences = createAwaitedSequences({
        clock,
        announce: (ids) =>
          ids.length === 0 ? Promise.resolve() : toAll(ids.join(), (process) => process.arrived(ids)),
        ask: () => toAll("?", (process) => process.asked()),
        publishEnded: async (ids) => void published.push(...ids),
      });
      processes.push(sequences);
      sequences.catchUp();
      return { sequences, published };
    },
    cut: () => {
      isCut = true;
    },
    mend: () => {
      isCut = false;
    },
  };
};

describe("the end of a sequence", () => {
  it("is published only if a process awaits it", async () => {
    const { clock, start } = createFleet();
    const [worker, waiter] = [start(), start()];
    await clock.advanceBy(10);
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(10);
    expect(worker.sequences.ended(["a", "b"])).toEqual(["a"]);
  });

  it("is published when its announcement arrives after it", async () => {
    const { clock, start } = createFleet();
    const [worker, waiter] = [start(), start()];
    await clock.advanceBy(10);
    expect(worker.sequences.ended(["a", "b"])).toEqual([]);
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(10);
    expect(worker.published).toEqual(["a"]);
  });

  it("is published once, whatever was asked for in between, and not after two seconds", async () => {
    const { clock, start } = createFleet();
    const [worker, waiter] = [start(), start()];
    await clock.advanceBy(10);
    worker.sequences.ended(["a", "late"]);
    waiter.sequences.wait(["unknown"]);
    await clock.advanceBy(1_000);
    worker.sequences.ended(["b"]);
    waiter.sequences.wait(["a", "b"]);
    await clock.advanceBy(10);
    expect(worker.published).toEqual(["a", "b"]);
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(2_000);
    waiter.sequences.wait(["late"]);
    await clock.advanceBy(10);
    expect(worker.published).toEqual(["a", "b"]);
  });

  it("is published by a process that started after the wait began", async () => {
    const { clock, start } = createFleet();
    start().sequences.wait(["a"]);
    await clock.advanceBy(10);
    const worker = start();
    await clock.advanceBy(10);
    expect(worker.sequences.ended(["a"])).toEqual(["a"]);
  });

  it("is published after minutes of waiting", async () => {
    const { clock, start } = createFleet();
    const [worker, waiter] = [start(), start()];
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(600_000);
    expect(worker.sequences.ended(["a"])).toEqual(["a"]);
  });

  it("is published after the announcement was lost with the connection", async () => {
    const { clock, start, cut, mend } = createFleet();
    const [worker, waiter] = [start(), start()];
    await clock.advanceBy(10);
    cut();
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(10);
    mend();
    waiter.sequences.catchUp();
    await clock.advanceBy(10);
    expect(worker.sequences.ended(["a"])).toEqual(["a"]);
  });

  it("is not published long after the last wait for it ended", async () => {
    const { clock, start } = createFleet();
    const [worker, waiter] = [start(), start()];
    const ends = [waiter.sequences.wait(["a"]), waiter.sequences.wait(["a"])];
    await clock.advanceBy(10);
    ends[0]!();
    ends[0]!();
    await clock.advanceBy(600_000);
    expect(worker.sequences.ended(["a"])).toEqual(["a"]);
    ends[1]!();
    await clock.advanceBy(600_000);
    expect(worker.sequences.ended(["a"])).toEqual([]);
  });
});

describe("announcements", () => {
  it("of a burst of waits go out together", async () => {
    const { clock, sent, start } = createFleet();
    const waiter = start();
    await clock.advanceBy(10);
    sent.length = 0;
    for (const id of ["a", "b", "c", "d"]) waiter.sequences.wait([id]);
    await clock.advanceBy(10);
    expect(sent).toEqual(["a", "b,c,d"]);
  });

  it("end with the process", async () => {
    const { clock, sent, start } = createFleet();
    const waiter = start();
    waiter.sequences.wait(["a"]);
    await clock.advanceBy(10);
    waiter.sequences.close();
    sent.length = 0;
    await clock.advanceBy(600_000);
    expect(sent).toEqual([]);
  });

  it("that flood the process count as announcements of everything", async () => {
    const { clock, start } = createFleet();
    const worker = start();
    worker.sequences.arrived(Array.from({ length: 200_000 }, (_, index) => `forged-${index}`));
    expect(worker.sequences.ended(["a"])).toEqual(["a"]);
    await clock.advanceBy(600_000);
    expect(worker.sequences.ended(["a"])).toEqual([]);
  });
});
