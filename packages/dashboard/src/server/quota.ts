import { HttpError } from "./http-error.ts";

export interface Quota {
  /** Does the work as soon as the person has fewer requests under way, unless the signal is aborted before. */
  run<T>(user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Person {
  running: number;
  readonly waiting: Set<() => void>;
}

/**
 * Lets each person have a few expensive requests at a time. A page may ask for some at once, so some wait for their turn; the
 * rest is refused.
 */
export const createQuota = ({ most, mostWaiting }: { most: number; mostWaiting: number }): Quota => {
  const people = new Map<string, Person>();

  const waitForTurn = ({ waiting }: Person, signal: AbortSignal): Promise<void> => {
    if (waiting.size >= mostWaiting)
      throw new HttpError(429, "too_many", "You have several long requests under way.", {
        hint: "Wait for one of them to end.",
        headers: { "retry-after": "1" },
      });
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(begin);
        reject(new HttpError(503, "too_slow", "Your other requests took too long.", { hint: "Try again." }));
      };
      if (signal.aborted) return leave();
      waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  };

  return {
    run: async (user, signal, work) => {
      let person = people.get(user);
      if (person === undefined) people.set(user, (person = { running: 0, waiting: new Set() }));
      // Whoever ends hands the place over, so nobody who comes in between can take it.
      if (person.running >= most) await waitForTurn(person, signal);
      else person.running += 1;
      try {
        return await work();
      } finally {
        const [next] = person.waiting;
        if (next === undefined) person.running -= 1;
        else {
          person.waiting.delete(next);
          next();
        }
        if (person.running === 0) people.delete(user);
      }
    },
  };
};
