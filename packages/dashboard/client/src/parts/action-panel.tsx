import { useEffect, useState } from "preact/hooks";
import type { ActionKind, Plan, Status } from "../../../src/answers/jobs.ts";
import { type Choice, kinds, type Schedule } from "../state/action.ts";
import { act, type ApiError } from "../state/api.ts";
import { formatCount, formatDuration, formatTime, zoneName } from "../state/format.ts";
import { announce, now, zone } from "../state/settings.ts";
import { foresee, Outcomes, Progress, unitOf } from "./action-outcome.tsx";
import { Problem, Skeleton } from "./card.tsx";
import { Command } from "./link.tsx";
import { SidePanel } from "./panel.tsx";

const waiting: readonly Status[] = ["blocked", "pending"];

const shownStatuses = (choice: Choice): readonly Status[] =>
  ("status" in choice ? choice.status : undefined) ?? kinds.cancel.of;

const paces = [0, 5, 50, 500] as const;

/** The pace of an action: all at once, or a number of jobs per second. */
const Pace = ({
  jobs,
  value,
  onChange,
}: {
  readonly jobs: number;
  readonly value: number;
  onChange(value: number): void;
}) => (
  <fieldset class="choices">
    <legend class="small dim">Pace</legend>
    {paces
      .filter((pace) => pace === 0 || pace < jobs)
      .map((pace) => (
        <label key={pace}>
          <input type="radio" name="pace" checked={value === pace} onChange={() => onChange(pace)} />
          {pace === 0
            ? "all at once"
            : `${formatCount(pace)} a second, done in about ${formatDuration((jobs / pace) * 1_000)}`}
        </label>
      ))}
  </fieldset>
);

const delays = [
  ["10 minutes from now", 600_000],
  ["1 hour from now", 3_600_000],
  ["1 day from now", 86_400_000],
] as const;

/** The value of an input for date and time has no zone: it is in the zone of the page. */
const toSchedule = (text: string): Schedule | undefined => {
  const at = new Date(zone.value === "utc" ? `${text}Z` : text);
  return text === "" || Number.isNaN(at.getTime()) ? undefined : { at: at.toISOString() };
};

/** Asks when jobs are to run. */
const WhenForm = ({ onChoose }: { onChoose(schedule: Schedule): void }) => {
  const [delay, setDelay] = useState<number | "at">(delays[0][1]);
  const [text, setText] = useState("");
  const schedule = delay === "at" ? toSchedule(text) : { afterMs: delay };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (schedule !== undefined) onChoose(schedule);
      }}
    >
      <fieldset class="choices">
        <legend class="small dim">When</legend>
        {delays.map(([words, ms]) => (
          <label key={ms}>
            <input type="radio" name="when" checked={delay === ms} onChange={() => setDelay(ms)} />
            {words}
          </label>
        ))}
        <label>
          <input type="radio" name="when" checked={delay === "at"} onChange={() => setDelay("at")} />
          at a time of your choice
        </label>
      </fieldset>
      {delay === "at" && (
        <label class="field">
          <span>Date and time, {zoneName()}</span>
          <input
            type="datetime-local"
            step={1}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="row">
        <button type="submit" class="button primary" disabled={schedule === undefined}>
          See what would change
        </button>
      </div>
    </form>
  );
};

/** What else a cancellation may spare or take along. */
const CancelOptions = ({
  sparesRunning,
  withChildren,
  onChange,
}: {
  readonly sparesRunning: boolean;
  readonly withChildren: boolean;
  onChange(options: { readonly sparesRunning: boolean; readonly withChildren: boolean }): void;
}) => (
  <fieldset class="choices">
    <legend class="small dim">Which jobs</legend>
    <label>
      <input
        type="checkbox"
        checked={sparesRunning}
        onChange={(event) => onChange({ sparesRunning: event.currentTarget.checked, withChildren })}
      />
      only jobs that wait: what runs may finish
    </label>
    <label>
      <input
        type="checkbox"
        checked={withChildren}
        onChange={(event) => onChange({ sparesRunning, withChildren: event.currentTarget.checked })}
      />
      also what these jobs have started
    </label>
  </fieldset>
);

/** A dry run first, and then exactly that. */
export const PlanPanel = ({
  kind,
  choice,
  title,
  onClose,
  onDone,
}: {
  readonly kind: ActionKind;
  readonly choice: Choice;
  /** Its subject: "3 jobs", "MailRejectedError". */
  readonly title: string;
  onClose(): void;
  onDone(): void;
}) => {
  const [plan, setPlan] = useState<Plan>();
  const [problem, setProblem] = useState<ApiError>();
  const [pace, setPace] = useState(0);
  const [typed, setTyped] = useState("");
  const [runningId, setRunningId] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const [schedule, setSchedule] = useState<Schedule>();
  const [scope, setScope] = useState({ sparesRunning: false, withChildren: false });
  const isTimed = kind === "reschedule";
  const chosen = JSON.stringify(choice);
  const body = {
    ...choice,
    ...(isTimed && { schedule }),
    ...(scope.sparesRunning && {
      status: waiting.filter((status) => shownStatuses(choice).includes(status)),
    }),
    ...(scope.withChildren && { withChildren: true }),
  };

  const look = async (): Promise<void> => {
    setProblem(undefined);
    setPlan(undefined);
    try {
      const made = await act<Plan>(`plans/${kind}`, body);
      setPlan(made);
      announce(foresee(kind, made));
    } catch (error) {
      setProblem(error as ApiError);
    }
  };

  useEffect(() => {
    setRunningId(undefined);
    setTyped("");
    setPlan(undefined);
    setSchedule(undefined);
    setScope({ sparesRunning: false, withChildren: false });
    if (!isTimed) void look();
  }, [kind, chosen]);

  useEffect(() => {
    if (plan !== undefined) void look();
  }, [scope]);

  useEffect(() => {
    if (schedule !== undefined) void look();
  }, [schedule]);

  const run = async (made: Plan): Promise<void> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      const { id } = await act<{ id: string }>(`plans/${kind}/run`, {
        ...body,
        before: made.before,
        ...(pace > 0 && { pace }),
        ...(made.needsConfirmation && { confirm: Number(typed) }),
        ...(made.preview.total !== null && { expected: made.preview.total }),
      });
      setRunningId(id);
    } catch (error) {
      setProblem(error as ApiError);
    }
    setIsBusy(false);
  };

  const { name, isDangerous } = kinds[kind];
  const count = plan?.preview.changed ?? 0;
  const isConfirmed = plan?.needsConfirmation !== true || typed.replaceAll(/\D/g, "") === String(count);
  const isOld = plan !== undefined && Date.parse(plan.expiresAt) < now.value;
  return (
    <SidePanel
      title={`${name} ${title}`}
      label={`${name}: ${title}`}
      stage={runningId}
      tag={plan !== undefined && runningId === undefined ? "dry run" : undefined}
      onClose={onClose}
    >
      {problem !== undefined && <Problem error={problem} />}
      {isTimed && plan === undefined && schedule === undefined && <WhenForm onChoose={setSchedule} />}
      {plan === undefined && problem === undefined && !(isTimed && schedule === undefined) && (
        <Skeleton rows={4} />
      )}
      {plan !== undefined && runningId !== undefined && (
        <Progress kind={kind} id={runningId} onEnd={onDone} />
      )}
      {plan !== undefined && runningId === undefined && (
        <>
          <p class="big">{foresee(kind, plan)}</p>
          {schedule !== undefined && (
            <p>
              They would be due{" "}
              {"at" in schedule
                ? formatTime(schedule.at, now.value)
                : `${formatDuration(schedule.afterMs)} after that`}
              .{" "}
              <button
                type="button"
                class="button quiet small"
                onClick={() => {
                  setPlan(undefined);
                  setSchedule(undefined);
                }}
              >
                Another time
              </button>
            </p>
          )}
          <Outcomes kind={kind} plan={plan} />
          {kind === "cancel" && <CancelOptions {...scope} onChange={setScope} />}
          {!plan.preview.isExact && (
            <p class="small dim">Only the first ones were looked at. The rest is treated in the same way.</p>
          )}
          {count > 5 && <Pace jobs={plan.preview.total ?? count} value={pace} onChange={setPace} />}
          {plan.needsConfirmation && count > 0 && (
            <label class="field">
              <span>
                This cannot be undone. Type <b>{count}</b> to confirm.
              </span>
              <input
                inputMode="numeric"
                autocomplete="off"
                value={typed}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </label>
          )}
          <div class="row">
            {isOld && (
              <button type="button" class="button primary" onClick={() => void look()}>
                Look again
              </button>
            )}
            {!isOld && count > 0 && (
              <button
                type="button"
                class={`button ${isDangerous ? "danger" : "primary"}`}
                disabled={isBusy || !isConfirmed}
                onClick={() => void run(plan)}
              >
                {name} {plan.preview.isExact ? unitOf(plan, count) : "all of them"}
              </button>
            )}
            <button type="button" class="button" onClick={onClose}>
              {count === 0 ? "Close" : "Do nothing"}
            </button>
          </div>
          {plan.command !== null && <Command text={plan.command} />}
          <p class="small dim">
            {"filter" in choice &&
              `Jobs that match only after ${formatTime(plan.before, now.value)} are not part of this plan. `}
            It is written to the log of actions, with your name.
          </p>
        </>
      )}
    </SidePanel>
  );
};
