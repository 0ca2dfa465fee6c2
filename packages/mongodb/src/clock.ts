import type { Collections } from "./collections.ts";

/** The server's time, asked for or estimated. */
export interface ServerClock {
  ask(): Promise<number>;
  /** Good enough to look for candidates; whoever writes lets the server decide. */
  estimate(): Promise<number>;
}

export const createServerClock = ({ jobs }: Collections): ServerClock => {
  let offset: number | undefined;
  const ask = async (): Promise<number> => {
    const { localTime } = await jobs.db.command({ hello: 1 });
    const time = (localTime as Date).getTime();
    offset = time - Date.now();
    return time;
  };
  return { ask, estimate: async () => (offset === undefined ? ask() : Date.now() + offset) };
};
