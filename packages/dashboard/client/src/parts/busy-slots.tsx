import { formatCount } from "../format.ts";
import { Link } from "./link.tsx";

/** How many of the slots of workers are taken; with the way to the jobs in them, where that is given. */
export const BusySlots = ({
  running,
  slots,
  to,
}: {
  readonly running: number;
  readonly slots: number;
  readonly to?: string;
}) => {
  if (slots === 0) return <span class="dim">–</span>;
  const words = `${formatCount(running)} of ${formatCount(slots)}`;
  return (
    <span class="row nowrap">
      <meter min={0} max={slots} value={running} aria-label="Busy slots" />
      {to === undefined ? words : <Link to={to}>{words}</Link>}
    </span>
  );
};
