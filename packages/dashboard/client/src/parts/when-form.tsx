import { useState } from "preact/hooks";
import { zoneName } from "../format.ts";
import { zone } from "../state/settings.ts";
import type { Schedule } from "../state/plan.ts";

const delays = [
  ["10 minutes from now", 600_000],
  ["1 hour from now", 3_600_000],
  ["1 day from now", 86_400_000],
] as const;

/** What an input for date and time holds has no zone: it is in the one that the page shows times in. */
const toSchedule = (text: string): Schedule | undefined => {
  const at = new Date(zone.value === "utc" ? `${text}Z` : text);
  return text === "" || Number.isNaN(at.getTime()) ? undefined : { at: at.toISOString() };
};

/** Asks when jobs are to run. */
export const WhenForm = ({ onChoose }: { onChoose(schedule: Schedule): void }) => {
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
