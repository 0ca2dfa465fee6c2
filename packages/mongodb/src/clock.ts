import type { Collections } from "./collections.ts";

/** The server's time, asked for or estimated. */
export interface ServerClock {
  ask(): Promise<number>;
  /** Good enough to look for candidates and to say when something happened; whoever writes lets the server decide. */
  estimate(): Promise<number>;
}

/** A new primary may have another idea of the time. */
const trustedMs = 5_000;

export const createServerClock = ({ jobs }: Collections): ServerClock => {
  let learned: { readonly offset: number; readonly at: number } | undefined;

  const ask = async (): Promise<number> => {
    const sent = performance.now();
    const { localTime } = await jobs.db.command({ hello: 1 });
    const received = performance.now();
    const time = (localTime as Date).getTime();
    // It was that time about halfway. The local clock may be set meanwhile, so time is measured without it.
    learned = { offset: time - (sent + received) / 2, at: received };
    return time;
  };

  return {
    ask,
    estimate: async () => {
      if (learned === undefined || performance.now() - learned.at > trustedMs) await ask();
      return Math.round(performance.now() + learned!.offset);
    },
  };
};
