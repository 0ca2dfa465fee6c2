import type { ActionKind, Plan } from "../answers.ts";
import { formatCount, plural, shortId } from "../format.ts";
import { formatSkip, kinds } from "../state/plan.ts";
import { jobPath } from "../state/router.ts";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";

export const unitOf = (plan: Plan, count: number): string =>
  plural(count, plan.unit === "trees" ? "tree" : "job");

/** What a dry run found, as a sentence. */
export const foresee = (kind: ActionKind, plan: Plan): string => {
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

export const Outcomes = ({ kind, plan }: { readonly kind: ActionKind; readonly plan: Plan }) => {
  const { changed, revived, reasons, examples } = plan.foreseen;
  return (
    <ul class="outcomes">
      {changed > 0 && (
        <li>
          <Icon
            name={
              kind === "redrive"
                ? "redrive"
                : kind === "run_now"
                  ? "play"
                  : kind === "reschedule"
                    ? "clock"
                    : "close"
            }
          />
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
