import type { LimitRule } from "../store/contract/limits.ts";
import type { RulesOver } from "../store/rules/limits.ts";

/** What is kept for a queue or for a type in it, beside its jobs. Never changed, only replaced. */
export interface ScopeState {
  readonly rule: LimitRule | undefined;
  /** The bucket of its rate. */
  readonly bucketFullAt: number;
  /** Of a type: its turn among the types of the queue. */
  readonly turn: number;
  /** The turn that was served last: of a queue among its types, of a type among its lines. */
  readonly served: number;
}

export interface LineState {
  readonly turn: number;
  readonly bucketFullAt: number;
  /** The job whose failure has stopped it. */
  readonly stoppedBy: string | null;
}

/** The place of these states. Once made it stays, so that a journal can refer to it. */
export interface FlowCell {
  readonly queue: string;
  /** Null for the queue itself. */
  readonly typeName: string | null;
  state: ScopeState;
  /** By group; the line of jobs without a group has null. */
  readonly lines: Map<string | null, LineState>;
  /** So many lines are worth a look for those that can be forgotten. */
  sweepAt: number;
}

/** What the cells were like before a transaction changed them. */
export type FlowJournal = Map<FlowCell, CellImage>;

interface CellImage {
  state: ScopeState | null;
  readonly lines: Map<string | null, LineState | undefined>;
}

const emptyScope: ScopeState = { rule: undefined, bucketFullAt: 0, turn: 0, served: 0 };
const emptyLine: LineState = { turn: 0, bucketFullAt: 0, stoppedBy: null };
const fewLines = 64;

/** Rules, buckets, turns and stops: what groups and rules need that does not follow from the jobs. */
export interface FlowCells {
  /** Whether a rule was set for the queue or for a type in it. */
  isRuled(queue: string): boolean;
  find(queue: string, typeName: string | null): FlowCell | undefined;
  open(queue: string, typeName: string | null): FlowCell;
  rulesOver(queue: string, typeName: string): RulesOver;
  all(): Iterable<FlowCell>;

  setState(cell: FlowCell, change: Partial<ScopeState>): void;
  line(cell: FlowCell | undefined, group: string | null): LineState;
  setLine(cell: FlowCell, group: string | null, change: Partial<LineState>): void;
  /** Forgets lines that are as good as new, once there are many; `isActive` says which have jobs. */
  sweep(cell: FlowCell, now: number, isActive: (group: string) => boolean): void;

  setJournal(journal: FlowJournal | null): void;
  undo(journal: FlowJournal): void;
}

/** Puts the images of an inner journal under the outer one; where both have one, the outer is the older. */
export const mergeFlowJournal = (inner: FlowJournal, outer: FlowJournal): void => {
  for (const [cell, image] of inner) {
    const older = outer.get(cell);
    if (older === undefined) outer.set(cell, image);
    else {
      older.state ??= image.state;
      for (const [group, line] of image.lines) if (!older.lines.has(group)) older.lines.set(group, line);
    }
  }
};

export const createFlowCells = (): FlowCells => {
  const queues = new Map<string, Map<string | null, FlowCell>>();
  const ruled = new Set<string>();
  let journal: FlowJournal | null = null;

  const find = (queue: string, typeName: string | null): FlowCell | undefined =>
    queues.get(queue)?.get(typeName);

  const imageOf = (cell: FlowCell, into: FlowJournal): CellImage => {
    let image = into.get(cell);
    if (image === undefined) into.set(cell, (image = { state: null, lines: new Map() }));
    return image;
  };

  const noteRules = (queue: string): void => {
    for (const { state } of queues.get(queue)?.values() ?? []) {
      if (state.rule === undefined) continue;
      ruled.add(queue);
      return;
    }
    ruled.delete(queue);
  };

  return {
    isRuled: (queue) => ruled.has(queue),
    find,
    open: (queue, typeName) => {
      let cells = queues.get(queue);
      if (cells === undefined) queues.set(queue, (cells = new Map()));
      let cell = cells.get(typeName);
      if (cell === undefined) {
        cell = { queue, typeName, state: emptyScope, lines: new Map(), sweepAt: fewLines };
        cells.set(typeName, cell);
      }
      return cell;
    },
    rulesOver: (queue, typeName) => ({
      queue: find(queue, null)?.state.rule,
      type: find(queue, typeName)?.state.rule,
    }),
    *all() {
      for (const cells of queues.values()) yield* cells.values();
    },

    setState: (cell, change) => {
      if (journal !== null) imageOf(cell, journal).state ??= cell.state;
      cell.state = { ...cell.state, ...change };
      if (change.rule !== undefined) noteRules(cell.queue);
    },
    line: (cell, group) => cell?.lines.get(group) ?? emptyLine,
    setLine: (cell, group, change) => {
      const before = cell.lines.get(group);
      if (journal !== null) {
        const { lines } = imageOf(cell, journal);
        if (!lines.has(group)) lines.set(group, before);
      }
      cell.lines.set(group, { ...(before ?? emptyLine), ...change });
    },
    sweep: (cell, now, isActive) => {
      if (cell.lines.size < cell.sweepAt || journal !== null) return;
      for (const [group, { turn, bucketFullAt, stoppedBy }] of cell.lines) {
        const isAsNew = stoppedBy === null && turn <= cell.state.served && bucketFullAt <= now * 1_000;
        if (group !== null && isAsNew && !isActive(group)) cell.lines.delete(group);
      }
      cell.sweepAt = 2 * cell.lines.size + fewLines;
    },

    setJournal: (next) => {
      journal = next;
    },
    undo: (images) => {
      for (const [cell, { state, lines }] of images) {
        if (state !== null) cell.state = state;
        for (const [group, line] of lines) {
          if (line === undefined) cell.lines.delete(group);
          else cell.lines.set(group, line);
        }
        noteRules(cell.queue);
      }
    },
  };
};
