import { useState } from "preact/hooks";
import type { LimitValues, LimitRule } from "../../../src/answers/jobs.ts";
import { formatCount, formatDuration, plural } from "../state/format.ts";
import { ConfirmPanel } from "./panel.tsx";

/** Limits in words. */
export const describeLimits = (limits: LimitValues | null): string => {
  if (limits === null) return "–";
  const parts = [
    limits.concurrency === null ? "" : `${formatCount(limits.concurrency)} at once`,
    limits.rate === null ? "" : `${formatCount(limits.rate.limit)} in ${formatDuration(limits.rate.perMs)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "–" : parts.join(", ");
};

/** The rule of a queue or type; an empty one if none is set. */
export const ruleOf = (rules: readonly LimitRule[], queue: string, typeName: string | null): LimitRule =>
  rules.find((rule) => rule.queue === queue && rule.typeName === typeName) ?? {
    queue,
    typeName,
    paused: false,
    version: 0,
    concurrency: null,
    rate: null,
    perGroup: null,
    running: 0,
    tokens: null,
    claimableGroups: 0,
    throttledGroups: 0,
  };

const times = [
  ["1000", "second"],
  ["60000", "minute"],
  ["3600000", "hour"],
  ["86400000", "day"],
] as const;

/** Limits as they are typed in: an empty field is no limit. */
export interface TypedLimits {
  readonly concurrency: string;
  readonly limit: string;
  readonly perMs: string;
}

const toTyped = (limits: LimitValues | null): TypedLimits => ({
  concurrency: limits?.concurrency?.toString() ?? "",
  limit: limits?.rate?.limit.toString() ?? "",
  perMs: limits?.rate?.perMs.toString() ?? times[0][0],
});

const isLimit = (text: string): boolean => text === "" || /^[1-9]\d{0,9}$/.test(text);

const areValid = ({ concurrency, limit }: TypedLimits): boolean => isLimit(concurrency) && isLimit(limit);

const toLimits = ({ concurrency, limit, perMs }: TypedLimits, before: LimitValues | null): LimitValues => {
  const rate = limit === "" ? null : { limit: Number(limit), perMs: Number(perMs) };
  const isSame = rate?.limit === before?.rate?.limit && rate?.perMs === before?.rate?.perMs;
  return {
    concurrency: concurrency === "" ? null : Number(concurrency),
    // A rate that was not touched keeps its burst; a new one has none.
    rate: isSame ? (before?.rate ?? null) : (rate as LimitValues["rate"]),
  };
};

const NumberField = ({
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
    <input
      inputMode="numeric"
      placeholder="no limit"
      autocomplete="off"
      aria-invalid={!isLimit(value)}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value.trim())}
    />
  </label>
);

/** How many at once, and how many starts in a time. */
const LimitFields = ({
  legend,
  typed,
  onChange,
}: {
  readonly legend: string;
  readonly typed: TypedLimits;
  onChange(typed: TypedLimits): void;
}) => (
  <fieldset class="choices">
    <legend class="small dim">{legend}</legend>
    <NumberField
      words="Jobs at once"
      value={typed.concurrency}
      onChange={(concurrency) => onChange({ ...typed, concurrency })}
    />
    <NumberField words="Starts" value={typed.limit} onChange={(limit) => onChange({ ...typed, limit })} />
    <label class="filter">
      Starts in a
      <select
        value={typed.perMs}
        onChange={(event) => onChange({ ...typed, perMs: event.currentTarget.value })}
      >
        {!times.some(([ms]) => ms === typed.perMs) && (
          <option value={typed.perMs}>time of {typed.perMs} ms</option>
        )}
        {times.map(([ms, words]) => (
          <option key={ms} value={ms}>
            {words}
          </option>
        ))}
      </select>
    </label>
  </fieldset>
);

/** Which rule it is, as the server takes it. */
const scopeOf = ({ queue, typeName }: LimitRule): object => ({
  queue,
  ...(typeName !== null && { typeName }),
});

const nameOf = ({ queue, typeName }: LimitRule): string =>
  typeName === null ? `queue ${queue}` : `${typeName} in queue ${queue}`;

/** Pauses a queue or type, or ends its pause. */
export const PausePanel = ({
  rule,
  onClose,
  onDone,
}: {
  readonly rule: LimitRule;
  onClose(): void;
  onDone(): void;
}) => {
  const verb = rule.paused ? "resume" : "pause";
  const name = nameOf(rule);
  const deed = {
    title: `${rule.paused ? "Resume" : "Pause"} ${name}`,
    path: `limits/${verb}`,
    body: scopeOf(rule),
    done: `${name} ${verb}d.`,
  };
  return (
    <ConfirmPanel deed={deed} onClose={onClose} onDone={onDone}>
      <p class="big">
        {rule.paused
          ? "Its jobs start again at once, in all processes, as its limits allow."
          : "None of its jobs start any more, in any process, until it is resumed."}
      </p>
      {!rule.paused && <p>Running jobs finish. New jobs can still be added and wait.</p>}
    </ConfirmPanel>
  );
};

const inWords = (limits: LimitValues | null): string => {
  const words = describeLimits(limits);
  return words === "–" ? "no limit" : words;
};

const describeChange = (from: LimitValues | null, to: LimitValues): string =>
  inWords(from) === inWords(to) ? `${inWords(to)}, as before` : `${inWords(to)}, instead of ${inWords(from)}`;

/** Changes the limits of a queue or type, and those of each of its groups. */
export const LimitsPanel = ({
  rule,
  onClose,
  onDone,
}: {
  readonly rule: LimitRule;
  onClose(): void;
  onDone(): void;
}) => {
  const [all, setAll] = useState(toTyped(rule));
  const [group, setGroup] = useState(toTyped(rule.perGroup));
  // If another user changes them meanwhile, the server refuses.
  const [expectedVersion] = useState(rule.version);
  const limits = toLimits(all, rule);
  const perGroup = toLimits(group, rule.perGroup);
  const isReady = areValid(all) && areValid(group);
  const name = nameOf(rule);
  const deed = {
    title: `Limit ${name}`,
    path: "limits/set",
    body: {
      ...scopeOf(rule),
      ...limits,
      perGroup: perGroup.concurrency === null && perGroup.rate === null ? null : perGroup,
      expectedVersion,
    },
    done: `Limits of ${name}: ${inWords(limits)}.`,
  };
  return (
    <ConfirmPanel deed={deed} isReady={isReady} onClose={onClose} onDone={onDone}>
      <LimitFields legend="All its jobs together" typed={all} onChange={setAll} />
      <LimitFields legend="The jobs of each group" typed={group} onChange={setGroup} />
      {isReady ? (
        <ul class="notes">
          <li>All together: {describeChange(rule, limits)}.</li>
          <li>Each group: {describeChange(rule.perGroup, perGroup)}.</li>
          {limits.concurrency !== null && rule.running > limits.concurrency && (
            <li class="warn">
              {plural(rule.running, "job")} run now. They finish, and no more start until fewer than{" "}
              {limits.concurrency} are left.
            </li>
          )}
        </ul>
      ) : (
        <p class="bad">A limit is a whole number of at least 1. To start nothing, pause it instead.</p>
      )}
      <p class="small">It takes effect at once, for all workers together, and interrupts nothing.</p>
    </ConfirmPanel>
  );
};
