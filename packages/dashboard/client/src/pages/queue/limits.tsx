import type { FlowRule } from "../../answers.ts";
import { formatCount } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { describeLimits } from "../../parts/describe-limits.ts";
import { Link } from "../../parts/link.tsx";
import { withQuery } from "../../state/router.ts";

const describe = (rule: FlowRule): string => {
  const words = [
    rule.paused ? "paused" : "",
    describeLimits(rule),
    rule.perGroup === null ? "" : `per group ${describeLimits(rule.perGroup)}`,
  ].filter((part) => part !== "" && part !== "–");
  return words.length === 0 ? "no limit" : words.join("; ");
};

/** Whether a queue is paused, and what limits it and its types have. */
export const QueueLimits = ({
  queue,
  rules,
}: {
  readonly queue: string;
  readonly rules: readonly FlowRule[];
}) => {
  const isPaused = rules.some(({ paused, typeName }) => paused && typeName === null);
  return (
    <Card
      title="Limits"
      side={
        <Link class="link small" to={withQuery("/limits", { queue })}>
          Pause, resume and limits
        </Link>
      }
    >
      <dl class="facts beside">
        <dt>State</dt>
        <dd>{isPaused ? <span class="tag new">paused</span> : <span class="tag">open</span>}</dd>
        {rules.length === 0 && (
          <>
            <dt>Limits</dt>
            <dd class="dim">none</dd>
          </>
        )}
        {rules.map((rule) => (
          <>
            <dt>{rule.typeName ?? "All types"}</dt>
            <dd>
              {describe(rule)}
              {rule.concurrency !== null && <span class="dim"> · {formatCount(rule.running)} in use</span>}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
};
