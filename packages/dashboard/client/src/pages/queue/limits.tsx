import { useState } from "preact/hooks";
import type { LimitRule } from "../../../../src/answers/jobs.ts";
import { Card, Scroll } from "../../parts/card.tsx";
import { describeLimits, LimitsPanel, PausePanel, ruleOf } from "../../parts/limits-panel.tsx";
import { Link } from "../../parts/link.tsx";
import { formatCount } from "../../state/format.ts";
import { withQuery } from "../../state/router.ts";
import { may } from "../../state/session.ts";

const describe = (rule: LimitRule): string => {
  const words = [
    describeLimits(rule),
    rule.perGroup === null ? "" : `per group ${describeLimits(rule.perGroup)}`,
  ].filter((part) => part !== "" && part !== "–");
  return words.length === 0 ? "no limit" : words.join("; ");
};

/** Whether a queue and its types are paused, and their limits; each can be changed, also if it has none yet. */
export const QueueLimits = ({
  queue,
  rules,
  typeNames,
  onDone,
}: {
  readonly queue: string;
  readonly rules: readonly LimitRule[];
  readonly typeNames: readonly string[];
  onDone(): void;
}) => {
  const [chosen, setChosen] = useState<{
    readonly typeName: string | null;
    readonly panel: "pause" | "limits";
  }>();
  const names = new Set([...typeNames, ...rules.flatMap(({ typeName }) => typeName ?? [])]);
  const all = [null, ...[...names].sort()].map((typeName) => ruleOf(rules, queue, typeName));
  const subject = chosen && all.find(({ typeName }) => typeName === chosen.typeName);
  const close = (): void => setChosen(undefined);
  return (
    <div class={subject === undefined ? "columns" : "columns with-plan"}>
      <Card
        title="Limits and pauses"
        side={
          <Link class="link small" to={withQuery("/limits", { queue })}>
            All limits
          </Link>
        }
        flush
      >
        <Scroll label="Limits of this queue">
          <table>
            <thead>
              <tr>
                <th>Type</th>
                <th>State</th>
                <th>Limit</th>
                {may("limits") && <th>Actions</th>}
              </tr>
            </thead>
            <tbody>
              {all.map((rule) => (
                <tr key={rule.typeName ?? ""} data-row="">
                  <td data-label="Type">{rule.typeName ?? <b>all types</b>}</td>
                  <td data-label="State">
                    {rule.paused ? <span class="tag new">paused</span> : <span class="tag">open</span>}
                  </td>
                  <td data-label="Limit">
                    {describe(rule)}
                    {rule.concurrency !== null && (
                      <span class="dim"> · {formatCount(rule.running)} in use</span>
                    )}
                  </td>
                  {may("limits") && (
                    <td>
                      <span class="row nowrap">
                        <button
                          type="button"
                          class="button small"
                          onClick={() => setChosen({ typeName: rule.typeName, panel: "pause" })}
                        >
                          {rule.paused ? "Resume…" : "Pause…"}
                        </button>
                        <button
                          type="button"
                          class="button small"
                          onClick={() => setChosen({ typeName: rule.typeName, panel: "limits" })}
                        >
                          Limits…
                        </button>
                      </span>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Card>
      {subject !== undefined && chosen?.panel === "pause" && (
        <PausePanel key={subject.typeName} rule={subject} onClose={close} onDone={onDone} />
      )}
      {subject !== undefined && chosen?.panel === "limits" && (
        <LimitsPanel key={subject.typeName} rule={subject} onClose={close} onDone={onDone} />
      )}
    </div>
  );
};
