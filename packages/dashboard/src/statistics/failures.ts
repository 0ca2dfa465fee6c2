interface Counted {
  readonly from: Date;
  readonly typeName: string;
  readonly failed: number;
}

export interface TypeFailures {
  /** Null for all other types together. */
  readonly typeName: string | null;
  /** How many types these are. */
  readonly types: number;
  readonly failed: number;
  readonly points: readonly { readonly at: string; readonly failed: number }[];
}

/** So many types are told apart. */
const most = 5;

const sumUp = (typeName: string | null, types: number, rows: readonly Counted[]): TypeFailures => {
  const points = new Map<number, number>();
  for (const { from, failed } of rows) {
    const at = from.getTime();
    points.set(at, (points.get(at) ?? 0) + failed);
  }
  return {
    typeName,
    types,
    failed: rows.reduce((sum, { failed }) => sum + failed, 0),
    points: [...points]
      .sort(([a], [b]) => a - b)
      .map(([at, failed]) => ({ at: new Date(at).toISOString(), failed })),
  };
};

/** Failures by type over time: the types with the most first, then the rest together. */
export const countFailures = (rows: readonly Counted[]): TypeFailures[] => {
  const byType = new Map<string, Counted[]>();
  for (const row of rows) {
    if (row.failed === 0) continue;
    const known = byType.get(row.typeName);
    if (known === undefined) byType.set(row.typeName, [row]);
    else known.push(row);
  }
  const types = [...byType]
    .map(([typeName, counted]) => sumUp(typeName, 1, counted))
    .sort((a, b) => b.failed - a.failed);
  if (types.length <= most) return types;
  const others = types.slice(most - 1);
  const rest = others.flatMap(({ typeName }) => byType.get(typeName!)!);
  return [...types.slice(0, most - 1), sumUp(null, others.length, rest)];
};
