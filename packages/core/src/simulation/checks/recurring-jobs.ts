import type { AdvancedRecurringJob } from "../../store/contract/recurring.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { readTickHistory, type RecordedTick } from "../../recurring/decide-tick.ts";
import { type Check, type EventOf, short } from "./check.ts";

interface StartedJob {
  readonly job: StateJob;
  readonly recurringJobId: string;
  readonly nominalAt: number;
}

/** The jobs that recurring jobs have started in this commit. */
const findStarted = ({ steps }: EventOf<"applied">): StartedJob[] =>
  steps
    .flatMap(({ changes }) => changes)
    .flatMap(({ before, after }) => {
      if (before !== undefined || after === undefined || after.recurrence === null) return [];
      const { id, nominalAt } = JSON.parse(after.recurrence) as { id: string; nominalAt: number };
      return [{ job: after, recurringJobId: id, nominalAt }];
    });

const findAdvanced = ({ steps }: EventOf<"applied">): AdvancedRecurringJob[] =>
  steps
    .filter(({ method }) => method === "advanceRecurring")
    .flatMap(({ call }) => call["jobs"] as readonly AdvancedRecurringJob[]);

const isRun = ({ result }: RecordedTick): boolean => result === "started" || result === "caught_up";

export const recurringJobsStartOnce: Check = {
  invariant: "a time of a recurring job has one job at most, and has it if and only if the row has moved on",
  watch: ({ report }) => {
    const latest = new Map<string, number>();
    const onRecord = new Set<string>();

    const checkStart = (
      { job, recurringJobId, nominalAt }: StartedJob,
      advanced: AdvancedRecurringJob[],
    ): void => {
      const what = `${short(job.id)} for ${nominalAt} of ${recurringJobId}`;
      const row = advanced.find(({ id }) => id === recurringJobId);
      const tick =
        row && readTickHistory(row.tickHistory).recent.find(({ sequenceId }) => sequenceId === job.id);
      if (!row || !tick) return report(`${what} was started, and its recurring job has not moved on`);
      if (tick.triggered) return undefined;
      if (nominalAt <= (latest.get(recurringJobId) ?? 0))
        report(`${what} comes after a later time, or twice`);
      latest.set(recurringJobId, nominalAt);
      if (row.nextNominalAt !== null && row.nextNominalAt <= nominalAt)
        report(`${what} was started, and its time is still to come`);
      return undefined;
    };

    return {
      onEvent: (event) => {
        if (event.kind !== "applied") return;
        const advanced = findAdvanced(event);
        const started = findStarted(event);
        for (const start of started) checkStart(start, advanced);
        const startedIds = new Set(started.map(({ job }) => job.id));
        for (const { id, tickHistory } of advanced) {
          for (const tick of readTickHistory(tickHistory).recent.filter(isRun)) {
            const sequenceId = tick.sequenceId!;
            if (!onRecord.has(sequenceId) && !startedIds.has(sequenceId))
              report(`${id} records a job for ${tick.nominalAt} that was not started`);
            onRecord.add(sequenceId);
          }
        }
      },
    };
  },
};
