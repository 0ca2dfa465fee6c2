import { formatCount, plural } from "../../base/format.ts";
import type { CheckResult, TypeBacklog } from "../contract/diagnostics.ts";

/** What a check may come to. */
export const finding = {
  ok: (check: string, summary: string): CheckResult => ({ check, status: "ok", summary }),
  warning: (check: string, summary: string, advice: string): CheckResult => ({
    check,
    status: "warning",
    summary,
    advice,
  }),
  problem: (check: string, summary: string, advice: string): CheckResult => ({
    check,
    status: "problem",
    summary,
    advice,
  }),
} as const;

/** A check that cannot be made, for want of rights or a setting, is no reason to give up the others. */
export const tryCheck = async (
  check: string,
  run: () => Promise<readonly CheckResult[]>,
): Promise<readonly CheckResult[]> => {
  try {
    return await run();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const advice = "Run doctor as a user with the rights to look.";
    return [{ ...finding.warning(check, "This could not be checked.", advice), cause }];
  }
};

/** Of a store with numbered migrations. */
export const judgeMigrations = ({
  applied,
  pending,
}: {
  readonly applied: readonly unknown[];
  readonly pending: readonly unknown[];
}): CheckResult =>
  pending.length === 0
    ? finding.ok("migrations", `${plural(applied.length, "migration")} applied, none pending.`)
    : finding.problem(
        "migrations",
        `${plural(pending.length, "migration")} pending.`,
        "Run `leasehold migrate`.",
      );

/** The names of the indexes in the SQL that makes the tables: one list, in the migrations, and no copy of it here. */
const expectedIndexes = (sql: string): string[] =>
  [
    ...sql.matchAll(
      /CREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)"?/gi,
    ),
  ].map(([, name]) => name!);

/** Of a store whose tables are made by SQL: `usable` are the indexes that there are and that the database uses. */
export const judgeIndexes = (sql: string, usable: readonly string[]): CheckResult => {
  const expected = expectedIndexes(sql);
  const missing = expected.filter((name) => !usable.includes(name));
  return missing.length === 0
    ? finding.ok("indexes", `All ${formatCount(expected.length)} indexes are there.`)
    : finding.problem(
        "indexes",
        `Missing or invalid: ${missing.join(", ")}. Claims and lists get slow with the number of jobs.`,
        "Create them again: `leasehold migrate --dry-run` on an empty database prints the SQL.",
      );
};

type QueueType = Pick<TypeBacklog, "queue" | "typeName">;

/** What the jobs of a backlog are counted as. */
export type BacklogKind = keyof Omit<TypeBacklog, "queue" | "typeName" | "oldestRunnableAt">;

type MutableBacklog = { -readonly [TField in keyof TypeBacklog]: TypeBacklog[TField] };

/** A queue and a type as one key of a map. */
export const queueTypeKey = ({ queue, typeName }: QueueType): string => JSON.stringify([queue, typeName]);

/** Adds up the counts of a backlog by queue and type, each up to the cap. */
export interface BacklogCounts {
  of(queueType: QueueType): MutableBacklog;
  /** A type that has only jobs of other kinds is not added. */
  add(queueType: QueueType, kind: BacklogKind, count: number): void;
  all(): TypeBacklog[];
}

const emptyBacklog = {
  runnable: 0,
  throttled: 0,
  overdue: 0,
  later: 0,
  running: 0,
  expired: 0,
  blocked: 0,
  failed: 0,
  oldestRunnableAt: null,
} as const;

/** Empty counts of a backlog, each up to `cap`. */
export const createBacklogCounts = (cap: number): BacklogCounts => {
  const counts = new Map<string, MutableBacklog>();
  const of = ({ queue, typeName }: QueueType): MutableBacklog => {
    const key = queueTypeKey({ queue, typeName });
    const found = counts.get(key) ?? { queue, typeName, ...emptyBacklog };
    counts.set(key, found);
    return found;
  };
  return {
    of,
    add: (queueType, kind, count) => {
      if (count === 0) return;
      const counted = of(queueType);
      counted[kind] = Math.min(cap, counted[kind] + count);
    },
    all: () => [...counts.values()],
  };
};
