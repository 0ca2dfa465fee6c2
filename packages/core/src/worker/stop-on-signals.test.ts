import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import type { RunningWorker, StopResult } from "./api.ts";
import { stopOnSignals } from "./stop-on-signals.ts";

const createHost = () => {
  const emitter = new EventEmitter();
  const exited = createDeferred<number>();
  const codes: number[] = [];
  const exit = (code?: number | string | null): never => {
    codes.push(Number(code));
    exited.resolve(Number(code));
    return undefined as never;
  };
  const host = Object.assign(emitter, { exit }) as unknown as Pick<NodeJS.Process, "on" | "off" | "exit">;
  return { emitter, host, exited: exited.promise, codes };
};

const createWorker = (stopped: Promise<Partial<StopResult>>) => {
  const calls: unknown[] = [];
  const worker = {
    workerId: "w",
    stop: (options: unknown) => {
      calls.push(options);
      return stopped as Promise<StopResult>;
    },
    health: () => {
      throw new Error("not used");
    },
  } as RunningWorker;
  return { worker, calls };
};

describe("stopOnSignals", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`stops the workers on ${signal} and exits with 0`, async () => {
      const { emitter, host, exited } = createHost();
      const { worker, calls } = createWorker(Promise.resolve({ clean: true }));
      let closed = false;
      stopOnSignals([worker], { process: host, deadlineMs: 5, onStopped: () => void (closed = true) });
      emitter.emit(signal, signal);
      expect(await exited).toBe(0);
      expect(calls).toEqual([{ deadlineMs: 5 }]);
      expect(closed).toBe(true);
    });
  }

  it("exits with 1 when jobs had to be aborted", async () => {
    const { emitter, host, exited } = createHost();
    stopOnSignals(createWorker(Promise.resolve({ clean: false })).worker, { process: host });
    emitter.emit("SIGTERM", "SIGTERM");
    expect(await exited).toBe(1);
  });

  it("exits at once on the second signal, with the signal's number", async () => {
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      const { emitter, host, exited } = createHost();
      stopOnSignals(createWorker(new Promise(() => {})).worker, { process: host });
      emitter.emit("SIGTERM", "SIGTERM");
      emitter.emit(signal, signal);
      expect(await exited).toBe(code);
    }
  });

  it("takes its handlers away", () => {
    const { emitter, host } = createHost();
    const dispose = stopOnSignals(createWorker(new Promise(() => {})).worker, { process: host });
    dispose();
    expect(emitter.listenerCount("SIGTERM") + emitter.listenerCount("SIGINT")).toBe(0);
  });

  it("says at once what is wrong with its arguments, and listens to nothing then", () => {
    const { emitter, host } = createHost();
    const { worker } = createWorker(Promise.resolve({ clean: true }));
    const wrong: readonly (readonly [string, unknown, unknown])[] = [
      ["workers", undefined, { process: host }],
      ["workers", [worker, {}], { process: host }],
      ["options", worker, null],
      ["deadlineMs", worker, { process: host, deadlineMs: -1 }],
      ["onStopped", worker, { process: host, onStopped: "close" }],
      ["process", worker, { process: {} }],
      ["colour", worker, { process: host, colour: "red" }],
    ];
    for (const [option, workers, options] of wrong) {
      const install = () => stopOnSignals(workers as never, options as never);
      expect(install, option).toThrow(expect.objectContaining({ code: "InvalidOption", option }));
    }
    expect(emitter.eventNames()).toEqual([]);
  });
});
