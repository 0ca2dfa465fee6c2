import { useEffect, useState } from "preact/hooks";
import { toSegment } from "../../../../src/http/path-segment.ts";
import type { JobTypes, RecurringJob } from "../../../../src/answers/jobs.ts";
import { ConfirmPanel } from "../../parts/panel.tsx";
import { type Edited, ValueEditor } from "../../parts/value-editor.tsx";
import { usePolled } from "../../state/api.ts";
import { formatTime } from "../../state/format.ts";
import { withQuery } from "../../state/router.ts";
import { may } from "../../state/session.ts";
import { now } from "../../state/settings.ts";

const overlaps = [
  ["skip", "skip the time"],
  ["queue_one", "start one run after it"],
  ["replace", "cancel the run before"],
  ["allow", "start another one"],
] as const;

const catchUps = [
  ["last", "the latest one"],
  ["all", "all of them"],
  ["none", "none that is late"],
] as const;

interface Times {
  readonly times: readonly { readonly at: string; readonly local: string }[];
}

/** A value that has not changed for a moment: not every key that is pressed is a question to the server. */
const useSettled = <T,>(value: T): T => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 300);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
};

const NextTimes = ({ path }: { readonly path: string }) => {
  const { data, error } = usePolled<Times>(useSettled(path), null);
  if (error !== undefined)
    return (
      <p class="bad" role="alert">
        {error.message}
      </p>
    );
  return (
    <div>
      <span class="small dim">Next times</span>
      <ol class="times" aria-label="Next times">
        {data?.times.map(({ at, local }) => (
          <li key={at}>
            <span class="mono">{local}</span> <span class="dim">{formatTime(at, now.value)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
};

const Choice = ({
  words,
  options,
  value,
  onChange,
}: {
  readonly words: string;
  readonly options: readonly (readonly [string, string])[];
  readonly value: string;
  onChange(value: string): void;
}) => (
  <label class="field">
    <span>{words}</span>
    <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([name, meaning]) => (
        <option key={name} value={name}>
          {meaning}
        </option>
      ))}
    </select>
  </label>
);

const Text = ({
  words,
  value,
  onChange,
}: {
  readonly words: string;
  readonly value: string;
  onChange(value: string): void;
}) => (
  <label class="field">
    <span>{words}</span>
    <input autocomplete="off" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
  </label>
);

/** Changes when a recurring job comes, its policies and its input. What is not changed is not sent. */
export const EditRecurringPanel = ({
  recurring,
  onClose,
  onDone,
}: {
  readonly recurring: RecurringJob;
  onClose(): void;
  onDone(): void;
}) => {
  // The list is read again while the panel is open. If another user changes the job meanwhile, the server refuses.
  const [before] = useState(recurring);
  const { data: types } = usePolled<JobTypes>("job-types", null);
  const [isCron, setIsCron] = useState(before.cron !== null);
  const [cron, setCron] = useState(before.cron ?? "0 * * * *");
  const [zone, setZone] = useState(before.timeZone ?? "UTC");
  const [seconds, setSeconds] = useState(String((before.everyMs ?? 3_600_000) / 1_000));
  const [overlap, setOverlap] = useState(before.overlap);
  const [catchUp, setCatchUp] = useState(before.catchUp);
  const [jitter, setJitter] = useState(String(before.jitterMs / 1_000));
  const [input, setInput] = useState<Edited>({ value: before.job.input });
  const everyMs = Math.round(Number(seconds) * 1_000);
  const jitterMs = Math.round(Number(jitter) * 1_000);
  const areNumbers = everyMs > 0 && jitterMs >= 0;
  const change = {
    ...(isCron && cron.trim() !== before.cron && { cron: cron.trim() }),
    ...(isCron && zone.trim() !== before.timeZone && { timeZone: zone.trim() }),
    ...(!isCron && everyMs !== before.everyMs && { everyMs }),
    ...(overlap !== before.overlap && { overlap }),
    ...(catchUp !== before.catchUp && { catchUp }),
    ...(jitterMs !== before.jitterMs && { jitterMs }),
    ...(input !== undefined &&
      JSON.stringify(input.value) !== JSON.stringify(before.job.input) && { input: input.value }),
  };
  const deed = {
    title: `Change ${before.id}`,
    path: `recurring/${toSegment(before.id)}/update`,
    body: { ...change, expectedVersion: before.version },
    done: `${before.id} changed.`,
  };
  const times = withQuery(
    "recurring-times",
    isCron ? { cron: cron.trim(), timeZone: zone.trim() } : { everyMs: String(everyMs) },
  );
  return (
    <ConfirmPanel
      deed={deed}
      isReady={Object.keys(change).length > 0 && areNumbers && input !== undefined}
      onClose={onClose}
      onDone={onDone}
    >
      {before.owner !== null && (
        <p class="warn-note">
          The program <b>{before.owner}</b> declares it in code, and puts its own definition back when it
          starts.
        </p>
      )}
      <fieldset class="choices">
        <legend class="small dim">When</legend>
        <label>
          <input type="radio" name="times" checked={isCron} onChange={() => setIsCron(true)} />
          by a cron expression
        </label>
        <label>
          <input type="radio" name="times" checked={!isCron} onChange={() => setIsCron(false)} />
          at an interval
        </label>
      </fieldset>
      {isCron ? (
        <>
          <Text words="Cron expression" value={cron} onChange={setCron} />
          <Text words="Time zone" value={zone} onChange={setZone} />
        </>
      ) : (
        <Text words="Every so many seconds" value={seconds} onChange={setSeconds} />
      )}
      {areNumbers ? <NextTimes path={times} /> : <p class="bad">Seconds are a number.</p>}
      <Choice
        words="If the run before has not finished"
        options={overlaps}
        value={overlap}
        onChange={setOverlap}
      />
      <Choice
        words="If several times are due at once"
        options={catchUps}
        value={catchUp}
        onChange={setCatchUp}
      />
      <Text words="Begin up to so many seconds later" value={jitter} onChange={setJitter} />
      {may("payloads") && types !== undefined && (
        <ValueEditor
          label={`Input of ${before.job.typeName}`}
          schema={types.jobTypes.find(({ typeName }) => typeName === before.job.typeName)?.input}
          initial={before.job.input}
          onChange={setInput}
        />
      )}
    </ConfirmPanel>
  );
};
