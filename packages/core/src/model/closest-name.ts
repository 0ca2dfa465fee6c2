/** The least number of letters to insert, delete, replace, or swap with their neighbour, to get from one to the other. */
const editDistance = (from: string, to: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? beforeLast[j - 2]! + 1 : Infinity;
      row[j] = Math.min(replaced, swapped, last[j]! + 1, row[j - 1]! + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length]!;
};

const longestName = 50;
const shortestPart = 4;

/** The name that was probably meant: a few letters away, or the given one with a part missing or too much. */
export const closestName = (given: string, names: readonly string[]): string | undefined => {
  if (given.length > longestName) return undefined;
  const wanted = given.toLowerCase();
  let closest: string | undefined;
  let least = Infinity;
  for (const name of names) {
    const candidate = name.toLowerCase();
    const distance = editDistance(wanted, candidate);
    if (distance <= Math.max(wanted.length, candidate.length) / 3 && distance < least) {
      closest = name;
      least = distance;
    }
  }
  return closest ?? names.find((name) => isPart(wanted, name.toLowerCase()));
};

const isPart = (given: string, name: string): boolean =>
  Math.min(given.length, name.length) >= shortestPart && (name.startsWith(given) || given.startsWith(name));
