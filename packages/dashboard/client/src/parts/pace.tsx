import { formatCount, formatDuration } from "../format.ts";

const paces = [0, 5, 50, 500] as const;

/** How fast an action goes: all at once, or so many jobs a second. */
export const Pace = ({
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
