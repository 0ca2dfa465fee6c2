import type { CheckReport } from "../../../src/answers/numbers.ts";
import { usePolled } from "../state/api.ts";
import { plural } from "../state/format.ts";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";

const everyMs = 60_000;

/** How many results are not ok, in words; undefined if all are. */
export const countFindings = ({ results }: CheckReport): string | undefined => {
  const count = (wanted: string): number => results.filter(({ status }) => status === wanted).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  const parts = [
    ...(problems > 0 ? [plural(problems, "problem")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(" and ");
};

/** A link to the results of doctor, if any is not ok. */
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
