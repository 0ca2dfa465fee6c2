import type { CheckReport } from "../../../src/answers/numbers.ts";
import { usePolled } from "../state/api.ts";
import { plural } from "../state/format.ts";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";

const everyMs = 60_000;

/** How many findings are not ok, in words; undefined where all are. */
export const countFindings = ({ results }: CheckReport): string | undefined => {
  const count = (wanted: string): number => results.filter(({ status }) => status === wanted).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  const parts = [
    ...(problems > 0 ? [plural(problems, "problem")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(" and ");
};

/** A line that leads to what doctor has found, if anything. */
export const FindingsNote = () => {
  const { data } = usePolled<CheckReport>("doctor", everyMs);
  const found = data && countFindings(data);
  if (found === undefined) return null;
  return (
    <p class="row small">
      <Icon name="doctor" />
      <span>
        Doctor found{" "}
        <Link class="link" to="/doctor">
          {found}
        </Link>
        .
      </span>
    </p>
  );
};
