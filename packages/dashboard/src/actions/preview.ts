import type { JobFilterField } from "leasehold";
import type { Preview } from "../answers/jobs.ts";
import type { AnyLeasehold } from "../http/leasehold.ts";
import type { Choice, PlannedAction } from "./action.ts";
import { queryFields } from "./job-filter.ts";

/** Quoted for a shell, if necessary. */
const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const fields = new Map<string, JobFilterField>(queryFields.map((field) => [field.name, field]));

/** `--queue` of `-q, --queue <queue>`. */
const longFlag = ({ flag }: JobFilterField): string => /--[a-z-]+/.exec(flag!)![0];

const mostIds = 20;

const toText = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value));

/** Undefined for a filter that the command line cannot express. */
const filterWords = (filter: NonNullable<Choice["filter"]>): string[] | undefined => {
  const words: string[] = [];
  for (const [key, value] of Object.entries(filter)) {
    const field = fields.get(key)!;
    for (const single of [value].flat()) {
      const text = toText(single);
      // The command line splits names at commas.
      if (field.kind === "name" && text.includes(",")) return undefined;
      words.push(longFlag(field), quote(text));
    }
  }
  return words.length === 0 ? ["--all"] : words;
};

const scheduleWords = (schedule: Choice["schedule"]): string[] => {
  if (schedule === undefined) return [];
  return ["--at", "at" in schedule ? schedule.at.toISOString() : `${schedule.afterMs}ms`];
};

/** Undefined for a path that the command line cannot express. */
const changeWords = (changes: NonNullable<Choice["changes"]>): string[] | undefined => {
  const words: string[] = [];
  for (const { path, ...change } of changes) {
    if (path.length === 0 || path.some((part) => /[.=]/.test(String(part)))) return undefined;
    const place = path.join(".");
    if ("value" in change) words.push("--set", quote(`${place}=${JSON.stringify(change.value)}`));
    else words.push("--unset", quote(place));
  }
  return words;
};

/** The command for the same action, as a dry run; null if the command line cannot express it or would be too long. */
export const commandFor = (
  words: string,
  { ids, filter, status, withChildren, changes = [], schedule }: Choice,
): string | null => {
  const edits = changeWords(changes);
  if (edits === undefined) return null;
  const children = withChildren === true ? ["--with-children"] : [];
  const start = ["leasehold", words, ...scheduleWords(schedule), ...children, ...edits].join(" ");
  // The command takes a status with a filter only.
  if (ids !== undefined && status !== undefined) return null;
  if (ids !== undefined) {
    if (ids.length > mostIds) return null;
    // An id may look like an option.
    const end = ids.some((id) => id.startsWith("-")) ? ["--"] : [];
    return [start, "--dry-run", ...end, ...ids.map(quote)].join(" ");
  }
  // For `cancel`, `--reason` is the message, not a filter.
  if (filter === undefined || (words === "cancel" && filter.failureReason !== undefined)) return null;
  const chosen = filterWords(filter);
  if (chosen === undefined) return null;
  const statuses = words === "failed redrive" ? [] : (status ?? []).flatMap((one) => ["--status", one]);
  const filters = statuses.length > 0 && chosen[0] === "--all" ? [] : chosen;
  return [start, ...statuses, ...filters, "--dry-run"].join(" ");
};

// A dry run holds its transaction open until it is rolled back, so it has to stay short.
const mostLookedAt = 2_000;

const portionSize = 500;

const mostExamples = 100;

/** More trees than these are not counted one by one. */
const mostTrees = 20;

/** Unfinished jobs of the same trees that a cancellation leaves alone; null for too many trees. */
const countRest = async (
  leasehold: AnyLeasehold,
  roots: readonly string[],
  ended: number,
): Promise<number | null> => {
  if (roots.length === 0) return 0;
  if (roots.length > mostTrees) return null;
  const counts = await Promise.all(
    roots.map((rootSequenceId) =>
      leasehold.jobs.count({ rootSequenceId, status: ["blocked", "pending", "running"] }),
    ),
  );
  return Math.max(0, counts.flat().reduce((sum, { count }) => sum + count, 0) - ended);
};

export const preview = async (
  { leasehold, original }: { readonly leasehold: AnyLeasehold; readonly original: object },
  { portion, countAll }: PlannedAction,
  choice: Choice,
  signal?: AbortSignal,
): Promise<Preview> => {
  const changed: string[] = [];
  const failed = new Set<string>();
  const roots = new Set<string>();
  const skipped: { jobId: string; reason: string }[] = [];
  let revived = 0;
  let cursor: string | null = null;
  do {
    signal?.throwIfAborted();
    const call = { choice, limit: portionSize, cursor, dryRun: true, reason: "", original };
    const part = await portion(leasehold, call);
    for (const one of part.changed) {
      changed.push(one.jobId);
      revived += one.revived;
    }
    skipped.push(...part.skipped);
    for (const id of part.failedIds ?? []) failed.add(id);
    for (const id of part.rootSequenceIds ?? []) roots.add(id);
    cursor = part.cursor;
  } while (cursor !== null && changed.length + skipped.length < mostLookedAt);
  const reasons: Record<string, number> = {};
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1;
  for (const id of changed) failed.delete(id);
  const isExact = cursor === null;
  return {
    changed: changed.length,
    total: isExact ? changed.length + skipped.length : await countAll(leasehold, choice),
    revived,
    failed: failed.size,
    goesOn: isExact ? await countRest(leasehold, [...roots], changed.length + failed.size) : null,
    skipped: skipped.length,
    reasons,
    examples: { changed: changed.slice(0, mostExamples), skipped: skipped.slice(0, mostExamples) },
    isExact,
  };
};
