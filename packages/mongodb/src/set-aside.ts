/** Jobs that somebody else's open transaction was seen to hold, and that are left alone for a while. */
export interface SetAside {
  add(id: string): void;
  ids(): readonly string[];
}

const setAsideMs = 1_000;
const mostSetAside = 1_000;

export const createSetAside = (): SetAside => {
  const until = new Map<string, number>();
  const dropPast = (): void => {
    const now = performance.now();
    // In the order in which they end.
    for (const [id, end] of until) {
      if (end > now && until.size <= mostSetAside) return;
      until.delete(id);
    }
  };
  return {
    add: (id) => {
      until.delete(id);
      until.set(id, performance.now() + setAsideMs);
      dropPast();
    },
    ids: () => {
      dropPast();
      return [...until.keys()];
    },
  };
};
