import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionKind, ActionProgress, LoggedAction, Plan } from "../answers.ts";
import { formatCount, formatDuration, plural } from "../format.ts";
import { act, type ApiError, segment } from "../state/api.ts";
import { now } from "../state/clock.ts";
import { type Choice, formatSkip, kinds } from "../state/plan.ts";
import { usePolled } from "../state/poll.ts";
import { jobPath } from "../state/router.ts";
import { announce } from "../state/settings.ts";
import { formatTime, shortId } from "../format.ts";
import { commandFor } from "./cli-command.ts";
import { Command } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";
import { Problem, Skeleton } from "./notice.tsx";

const unitOf = (plan: Plan, count: number): string => plural(count, plan.unit === "trees" ? "tree" : "job");

/** What a dry run found, as a sentence. */
const foresee = (kind: ActionKind, plan: Plan): string => {
  const { changed, revived, skipped, isExact } = plan.foreseen;
  if (changed === 0)
    return skipped === 0
      ? "There is nothing to do: no job fits."
      : "Nothing would change: all of them are left alone.";
  const among = isExact
    ? skipped === 0
      ? unitOf(plan, changed)
      : `${formatCount(changed)} of ${unitOf(plan, changed + skipped)}`
    : `More than ${unitOf(plan, changed)}`;
  const besides =
    revived === 0
      ? ""
      : `, and ${plural(revived, "job")} that failed because of them would wait for them again`;
  return `${among} ${kinds[kind].would}${besides}.`;
};

const Outcomes = ({ kind, plan }: { readonly kind: ActionKind; readonly plan: Plan }) => {
  const { changed, revived, reasons, examples } = plan.foreseen;
  return (
    <ul class="outcomes">
      {changed > 0 && (
        <li>
          <Icon name={kind === "redrive" ? "redrive" : kind === "run_now" ? "play" : "close"} />
          <span>{kinds[kind].would}</span>
          <b>{formatCount(changed)}</b>
        </li>
      )}
      {revived > 0 && (
        <li>
          <Icon name="blocked" />
          <span>would be blocked again, until those are done</span>
          <b>{formatCount(revived)}</b>
        </li>
      )}
      {Object.entries(reasons).map(([reason, count]) => (
        <li key={reason} class="dim">
          <Icon name="close" />
          <span>left alone: {formatSkip(reason)}</span>
          <b>{formatCount(count)}</b>
        </li>
      ))}
      {plan.unit === "jobs" && examples.changed.length > 0 && (
        <li class="examples small dim">
          <span>
            such as{" "}
            {examples.changed.slice(0, 3).map((id, index) => (
              <>
                {index > 0 && ", "}
                <Link class="link mono" to={jobPath(id)} key={id}>
                  {shortId(id)}
                </Link>
              </>
            ))}
          </span>
        </li>
      )}
    </ul>
  );
};

const paces = [0, 5, 50, 500] as const;

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

const stateWords = { running: "under way", done: "done", stopped: "stopped", failed: "failed" } as const;

/** An action under way, or how it ended. */
const Progress = ({
  kind,
  id,
  expected,
  onEnd,
}: {
  readonly kind: ActionKind;
  readonly id: string;
  readonly expected: number;
  onEnd(): void;
}) => {
  const [everyMs, setEveryMs] = useState(600);
  const { data, error, reload } = usePolled<LoggedAction>(`actions/${segment(id)}`, everyMs);
  const progress: ActionProgress = data?.result ?? { state: "running" };
  const { state, changed = 0, skipped = 0, revived = 0 } = progress;
  const isOver = data !== undefined && state !== "running";
  useEffect(() => {
    if (!isOver) return;
    announce(`${kinds[kind].name}: ${stateWords[state]}. ${plural(changed, "job")}.`);
    setEveryMs(60_000);
    onEnd();
  }, [isOver, state]);
  const share = isOver && state === "done" ? 1 : Math.min(1, (changed + skipped) / Math.max(1, expected));
  const call = async (verb: "stop" | "resume"): Promise<void> => {
    await act(`plans/${kind}/${verb}/${segment(id)}`).catch((problem: ApiError) => announce(problem.message));
    setEveryMs(600);
    reload();
  };
  return (
    <div class="stack">
      <p class="big">
        {formatCount(changed)} {kinds[kind].done}
        {revived > 0 && `, ${formatCount(revived)} wait for them again`}
        {skipped > 0 && `, ${formatCount(skipped)} were left alone`}.
      </p>
      <progress max={1} value={share} aria-label={`${kinds[kind].name}, ${stateWords[state]}`} />
      <div class="row">
        <span class={`tag ${state === "failed" ? "bad" : ""}`}>{stateWords[state]}</span>
        {progress.error != null && <span class="small">{progress.error}</span>}
        <span class="side row">
          {state === "running" && (
            <button type="button" class="button" onClick={() => void call("stop")}>
              Stop
            </button>
          )}
          {(state === "stopped" || state === "failed") && (
            <button type="button" class="button" onClick={() => void call("resume")}>
              Go on
            </button>
          )}
          <Link class="link small" to="/actions">
            Log of actions
          </Link>
        </span>
      </div>
      {error !== undefined && <Problem error={error} />}
    </div>
  );
};

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
  /** What it is about: "3 jobs", "MailRejectedError". */
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
  const panel = useRef<HTMLElement>(null);
  const chosen = JSON.stringify(choice);

  const look = async (): Promise<void> => {
    setProblem(undefined);
    setPlan(undefined);
    try {
      const made = await act<Plan>(`plans/${kind}`, choice);
      setPlan(made);
      announce(foresee(kind, made));
    } catch (error) {
      setProblem(error as ApiError);
    }
  };

  useEffect(() => {
    setRunningId(undefined);
    setTyped("");
    void look();
  }, [kind, chosen]);

  // Focus goes into the panel, and back to where it was.
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.querySelector<HTMLElement>("h2")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  const run = async (made: Plan): Promise<void> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      const { id } = await act<{ id: string }>(`plans/${kind}/run`, {
        ...choice,
        before: made.before,
        ...(pace > 0 && { pace }),
        ...(made.needsConfirmation && { confirm: Number(typed) }),
      });
      setRunningId(id);
      panel.current?.querySelector<HTMLElement>("h2")?.focus();
    } catch (error) {
      setProblem(error as ApiError);
    }
    setIsBusy(false);
  };

  const { name, isDangerous } = kinds[kind];
  const count = plan?.foreseen.changed ?? 0;
  const isConfirmed = plan?.needsConfirmation !== true || typed.replaceAll(/\D/g, "") === String(count);
  const isOld = plan !== undefined && Date.parse(plan.expiresAt) < now.value;
  const command = plan && commandFor(plan.command, choice);
  return (
    <aside
      class="card plan"
      aria-label={`${name}: ${title}`}
      ref={panel}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header>
        <h2 tabIndex={-1}>
          {name} {title}
        </h2>
        <span class="side row">
          {plan !== undefined && runningId === undefined && <span class="tag">dry run</span>}
          <button type="button" class="button quiet square" aria-label="Close the plan" onClick={onClose}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      <div class="body stack">
        {problem !== undefined && <Problem error={problem} />}
        {plan === undefined && problem === undefined && <Skeleton rows={4} />}
        {plan !== undefined && runningId !== undefined && (
          <Progress kind={kind} id={runningId} expected={count + plan.foreseen.skipped} onEnd={onDone} />
        )}
        {plan !== undefined && runningId === undefined && (
          <>
            <p class="big">{foresee(kind, plan)}</p>
            <Outcomes kind={kind} plan={plan} />
            {!plan.foreseen.isExact && (
              <p class="small dim">
                Only the first ones were looked at. The rest is treated in the same way.
              </p>
            )}
            {count > 5 && <Pace jobs={count} value={pace} onChange={setPace} />}
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
                  {name} {plan.foreseen.isExact ? unitOf(plan, count) : "all of them"}
                </button>
              )}
              <button type="button" class="button" onClick={onClose}>
                {count === 0 ? "Close" : "Do nothing"}
              </button>
            </div>
            {command !== undefined && <Command text={command} />}
            <p class="small dim">
              {"filter" in choice &&
                `What comes to match after ${formatTime(plan.before, now.value)} is not part of this plan. `}
              It is written to the log of actions, with your name.
            </p>
          </>
        )}
      </div>
    </aside>
  );
};
