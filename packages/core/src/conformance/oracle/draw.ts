/**
 * Turns the numbers of one generated step into choices. When they run out every choice is the first, so the first of
 * every list should be the plainest: that is where shrinking ends up.
 */
export interface Draw {
  below(bound: number): number;
  pick<T>(choices: readonly T[]): T;
  /** Up to `most` different ones; none only if there are none. */
  some<T>(choices: readonly T[], most: number): T[];
}

export const createDraw = (numbers: readonly number[]): Draw => {
  let next = 0;
  const below = (bound: number): number => {
    const number = numbers[next] ?? 0;
    next += 1;
    return number % bound;
  };
  const pick = <T>(choices: readonly T[]): T => {
    if (choices.length === 0) throw new Error("There is nothing to choose from.");
    return choices[below(choices.length)] as T;
  };
  return {
    below,
    pick,
    some: (choices, most) => {
      if (choices.length === 0) return [];
      const count = below(Math.min(most, choices.length)) + 1;
      return [...new Set(Array.from({ length: count }, () => pick(choices)))];
    },
  };
};
