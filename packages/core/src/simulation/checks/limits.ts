import type { StateJob } from "../../store/contract/job.ts";
import type { RateLimit } from "../../store/contract/limits.ts";
import type { RowChange } from "../history.ts";
import { type Check, short } from "./check.ts";

const isClaim = ({ before, after }: RowChange): boolean =>
  after?.status === "running" && after.leaseVersion !== before?.leaseVersion;

const claimedIn = (changes: readonly RowChange[]): StateJob[] =>
  changes.flatMap((change) => (isClaim(change) ? [change.after!] : []));

export const rulesLimitRunningJobs: Check = {
  invariant: "no claim takes more jobs than the rules allow at once",
  watch: ({ table, flow, report }) => ({
    onStep: ({ changes }) => {
      for (const row of claimedIn(changes)) {
        for (const { key, limits, covers } of flow.placesOver(row)) {
          if (limits.concurrency === null) continue;
          const running = [...table.rows.values()].filter(
            (other) => other.status === "running" && covers(other),
          );
          if (running.length > limits.concurrency)
            report(`${running.length} jobs of ${key} run after a claim, ${limits.concurrency} are allowed`);
          if (!row.limited) report(`${short(row.id)} is counted in ${key} and does not say so`);
        }
      }
    },
  }),
};

export const ratesHold: Check = {
  invariant: "no window has more claims than its rate",
  watch: ({ flow, report }) => {
    const claims = new Map<string, { readonly rate: RateLimit; readonly moments: number[] }>();
    return {
      onStep: ({ at, changes }) => {
        for (const row of claimedIn(changes)) {
          for (const { key, limits } of flow.placesOver(row)) {
            const { rate } = limits;
            if (rate === null) {
              claims.delete(key);
              continue;
            }
            const known = claims.get(key);
            const isSame = known !== undefined && JSON.stringify(known.rate) === JSON.stringify(rate);
            // Under another rate there may have been more.
            const moments = isSame ? known.moments : [];
            moments.push(at);
            claims.set(key, { rate, moments });
            const most = rate.limit + (rate.burst ?? 1) - 1;
            const within = moments.filter((moment) => moment > at - rate.perMs).length;
            if (within > most) report(`${within} claims of ${key} within ${rate.perMs} ms, not ${most}`);
          }
        }
      },
    };
  },
};

/** Whether `a` comes before `b` in a line, as far as the rows tell. */
const comesFirst = (a: StateJob, b: StateJob): boolean =>
  a.priority !== b.priority ? a.priority > b.priority : a.scheduledAt < b.scheduledAt;

export const groupsStayInOrder: Check = {
  invariant: "ordered groups run one at a time, in order, and not while stopped",
  watch: ({ table, flow, report }) => ({
    onStep: ({ at, changes }) => {
      for (const { before, after } of changes) {
        if (!isClaim({ before, after }) || after!.ordered === null || after!.group === null) continue;
        const id = short(after!.id);
        if (flow.isStopped(after!)) report(`${id} was claimed although its group is stopped`);
        for (const other of table.rows.values()) {
          const isBeside =
            other.queue === after!.queue &&
            other.typeName === after!.typeName &&
            other.group === after!.group;
          if (!isBeside || other.id === after!.id) continue;
          if (other.status === "running")
            report(`${id} was claimed while ${short(other.id)} of its group runs`);
          if (other.status !== "pending" || before!.leaseVersion > 0) continue;
          if (other.leaseVersion > 0) report(`${id} was claimed before ${short(other.id)}, which has begun`);
          else if (other.scheduledAt <= at && comesFirst(other, before!))
            report(`${id} was claimed before ${short(other.id)}, which comes first`);
        }
      }
    },
  }),
};

export const nothingIsClaimedInAPause: Check = {
  invariant: "nothing is claimed in a pause",
  watch: ({ flow, report }) => ({
    onStep: ({ at, changes }) => {
      for (const row of claimedIn(changes))
        if (flow.isPaused(row, at)) report(`${short(row.id)} was claimed although it is paused`);
    },
  }),
};

/** The longest pause of a worker's loop after many store errors in a row. */
const longestLoopBackoffMs = 5_000;

/** Looks at each queue as a whole: which of its lines is served next is the store's choice. */
export const openLinesAreServed: Check = {
  invariant: "a job that no rule holds back is claimed within a poll",
  watch: ({ plan, table, flow, report }) => {
    const slowestPollMs = Math.max(...plan.workers.map(({ pollIntervalMs }) => pollIntervalMs));
    const patienceMs = slowestPollMs + plan.leaseMs;
    const recoveryMs = 3 * plan.leaseMs + longestLoopBackoffMs;
    let quietSince = Infinity;
    let lastSlotChange = 0;
    /** When a job of a place was claimed last: after the time of its rate without a claim there is a token for certain. */
    const lastClaims = new Map<string, number>();

    const isHeld = (row: StateJob, at: number): boolean => {
      if (flow.isPaused(row, at) || flow.isStopped(row)) return true;
      const places = flow.placesOver(row);
      const rows = [...table.rows.values()];
      for (const { key, limits, covers } of places) {
        const running = rows.filter((other) => other.status === "running" && covers(other)).length;
        if (limits.concurrency !== null && running >= limits.concurrency) return true;
        if (limits.rate !== null && at - (lastClaims.get(key) ?? -Infinity) < limits.rate.perMs) return true;
      }
      const hasBegun = (other: StateJob): boolean => other.status === "pending" && other.leaseVersion > 0;
      return row.ordered !== null && rows.some((other) => hasBegun(other) && places.at(-1)!.covers(other));
    };

    /** Since when each queue has had a job that nothing holds back, and given none away. */
    const openSince = new Map<string, number>();

    // Before everything is calm a delay has excuses, and looking takes time.
    const look = (at: number, queues: ReadonlySet<string>): void => {
      if (quietSince === Infinity) return;
      for (const queue of queues) {
        const isOpen = [...table.rows.values()].some(
          (row) =>
            row.queue === queue && row.status === "pending" && row.scheduledAt <= at && !isHeld(row, at),
        );
        if (!isOpen) openSince.delete(queue);
        else if (!openSince.has(queue)) openSince.set(queue, at);
      }
    };

    return {
      onStep: ({ at, changes }) => {
        const queues = new Set(
          changes.map(({ before, after }) => (after ?? before)!.queue).filter(flow.isConcerned),
        );
        for (const row of claimedIn(changes)) {
          for (const { key } of flow.placesOver(row)) lastClaims.set(key, at);
          const waited = at - Math.max(openSince.get(row.queue) ?? at, quietSince, lastSlotChange);
          if (flow.isConcerned(row.queue) && waited > patienceMs)
            report(`${row.queue} had an open job for ${waited} ms before anybody claimed one`);
          openSince.delete(row.queue);
        }
        look(at, queues);
      },
      onEvent: (event) => {
        const isLateFault = event.kind === "fault" && quietSince !== Infinity;
        if (event.kind === "calm" || isLateFault) quietSince = event.at + recoveryMs;
        if (event.kind === "slot_taken" || event.kind === "slot_freed") lastSlotChange = event.at;
      },
    };
  },
};
