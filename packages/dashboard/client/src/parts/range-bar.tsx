import type { Statistics } from "../../../src/answers/numbers.ts";
import { formatTime } from "../state/format.ts";
import { chooseRange, lookAt, rangeEnd, range, type RangeKey, ranges } from "../state/range.ts";
import { offers } from "../state/session.ts";
import { now } from "../state/settings.ts";
import { Icon } from "./icon.tsx";
import { Segments } from "./shell.tsx";

/** Chooses the range of time of a page. */
export const RangePicker = () =>
  offers("history") ? (
    <Segments<RangeKey>
      label="Time range"
      options={ranges.map(([key, name]) => [key, name] as const)}
      value={range.value[0]}
      onChange={chooseRange}
    />
  ) : null;

/** Shows that the numbers are not current. Old counts are kept by the hour, so the range may be a bit longer. */
export const MomentBar = ({ statistics }: { readonly statistics: Statistics | undefined }) => {
  const at = rangeEnd.value;
  if (at === undefined) return null;
  const length = range.value[2] * 60_000;
  const before = statistics?.before ?? at;
  const from = statistics?.from ?? new Date(Date.parse(at) - length).toISOString();
  const show = (time: string): string => formatTime(time, now.value, { seconds: false });
  return (
    <div class="moment" role="status">
      <Icon name="clock" />
      <p>
        You are looking at{" "}
        <b>
          <time dateTime={from}>{show(from)}</time> – <time dateTime={before}>{show(before)}</time>
        </b>
        . <span class="dim">What waited and ran then is not kept; what came and ended is.</span>
      </p>
      <span class="row">
        <button type="button" class="button small" onClick={() => lookAt(Date.parse(at) - length)}>
          Earlier
        </button>
        <button type="button" class="button small" onClick={() => lookAt(Date.parse(at) + length)}>
          Later
        </button>
        <button type="button" class="button small primary" onClick={() => lookAt(undefined)}>
          Back to now
        </button>
      </span>
    </div>
  );
};
