import type { FlowLimits } from "../answers.ts";

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

export const toTyped = (limits: FlowLimits | null): TypedLimits => ({
  concurrency: limits?.concurrency?.toString() ?? "",
  limit: limits?.rate?.limit.toString() ?? "",
  perMs: limits?.rate?.perMs.toString() ?? times[0][0],
});

const isLimit = (text: string): boolean => text === "" || /^[1-9]\d{0,9}$/.test(text);

export const areValid = ({ concurrency, limit }: TypedLimits): boolean =>
  isLimit(concurrency) && isLimit(limit);

export const toLimits = (
  { concurrency, limit, perMs }: TypedLimits,
  before: FlowLimits | null,
): FlowLimits => {
  const rate = limit === "" ? null : { limit: Number(limit), perMs: Number(perMs) };
  const isSame = rate?.limit === before?.rate?.limit && rate?.perMs === before?.rate?.perMs;
  return {
    concurrency: concurrency === "" ? null : Number(concurrency),
    // A rate that was not touched keeps its burst; the server chooses one for a new rate.
    rate: isSame ? (before?.rate ?? null) : (rate as FlowLimits["rate"]),
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
export const LimitFields = ({
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
