import { HttpError } from "./http-error.ts";

export interface Quota {
  run<T>(user: string, work: () => Promise<T>): Promise<T>;
}

/** Lets each person have a few expensive requests at a time. */
export const createQuota = (most: number): Quota => {
  const running = new Map<string, number>();
  return {
    run: async (user, work) => {
      const count = running.get(user) ?? 0;
      if (count >= most)
        throw new HttpError(429, "too_many", "You have several long requests under way.", {
          hint: "Wait for one of them to end.",
          headers: { "retry-after": "1" },
        });
      running.set(user, count + 1);
      try {
        return await work();
      } finally {
        const left = running.get(user)! - 1;
        if (left === 0) running.delete(user);
        else running.set(user, left);
      }
    },
  };
};
