import { useState } from "preact/hooks";
import type { LimitRule, LimitRules } from "../../../src/answers/jobs.ts";
import { Card, Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { describeLimits, LimitsPanel, PausePanel, ruleOf } from "../parts/limits-panel.tsx";
import { Link } from "../parts/link.tsx";
import { Top } from "../parts/shell.tsx";
import { usePolled } from "../state/api.ts";
import { formatCount } from "../state/format.ts";
import { jobsPath, place } from "../state/router.ts";
import { backlog, may } from "../state/session.ts";

const Use = ({ rule }: { readonly rule: LimitRule }) => {
  if (rule.concurrency === null) return <span class="dim">–</span>;
  return (
    <span class="row nowrap">
      <meter min={0} max={Math.max(1, rule.concurrency)} value={rule.running} aria-label="In use" />
      {formatCount(rule.running)} of {formatCount(rule.concurrency)}
    </span>
  );
};

interface Scope {
  readonly queue: string;
  readonly typeName: string | null;
}

const scopeKey = ({ queue, typeName }: Scope): string => JSON.stringify([queue, typeName]);

/** Rules that are set, and queues that have none yet but could be paused. */
const withQueues = (rules: readonly LimitRule[]): LimitRule[] => {
  const known = new Set(rules.map(scopeKey));
  const rest = [...new Set(backlog.value?.types.map(({ queue }) => queue))]
    .filter((queue) => !known.has(scopeKey({ queue, typeName: null })))
    .map((queue) => ruleOf([], queue, null));
  return [...rules, ...rest].sort(
    (a, b) => a.queue.localeCompare(b.queue) || (a.typeName ?? "").localeCompare(b.typeName ?? ""),
  );
};

export const LimitsPage = () => {
  const { data, error, reload } = usePolled<LimitRules>("limits");
  const [chosen, setChosen] = useState<{ readonly key: string; readonly panel: "pause" | "limits" }>();
  const wanted = place.value.query.get("queue");
  const rules = data && withQueues(data.rules).filter(({ queue }) => wanted === null || queue === wanted);
  const subject = rules?.find((rule) => scopeKey(rule) === chosen?.key);
  const close = (): void => setChosen(undefined);
  return (
    <>
      <Top title="Limits" />
      {error !== undefined && <Problem error={error} />}
      {rules === undefined && error === undefined && <Skeleton />}
      {rules !== undefined && (
        <div class={subject === undefined ? "columns" : "columns with-plan"}>
          <Card
            title="Limits and pauses"
            note="for all workers together"
            side={
              wanted !== null && (
                <Link class="link small" to="/limits">
                  All queues
                </Link>
              )
            }
            flush
          >
            {rules.length === 0 ? (
              <Empty icon="limits" title="No limits are set, and nothing waits.">
                Set one with <code>leasehold.limits.set</code> or{" "}
                <code>leasehold limits set --queue mail --concurrency 10</code>.
              </Empty>
            ) : (
              <Scroll label="Limits">
                <table>
                  <thead>
                    <tr>
                      <th>Queue</th>
                      <th>Type</th>
                      <th>State</th>
                      <th>Limit</th>
                      <th>In use</th>
                      <th class="number">Starts left</th>
                      <th>Per group</th>
                      <th class="number">Groups throttled</th>
                      {may("limits") && <th>Actions</th>}
                    </tr>
                  </thead>
                  <tbody>
                    {rules.map((rule) => (
                      <tr key={scopeKey(rule)} data-row="">
                        <td>
                          <Link class="strong" to={jobsPath({ queue: rule.queue })}>
                            {rule.queue}
                          </Link>
                        </td>
                        <td>{rule.typeName ?? <span class="dim">whole queue</span>}</td>
                        <td>
                          {rule.paused ? <span class="tag new">paused</span> : <span class="tag">open</span>}
                        </td>
                        <td>{describeLimits(rule)}</td>
                        <td>
                          <Use rule={rule} />
                        </td>
                        <td class="number">{rule.tokens === null ? "–" : formatCount(rule.tokens)}</td>
                        <td>{describeLimits(rule.perGroup)}</td>
                        <td class="number">{formatCount(rule.throttledGroups)}</td>
                        {may("limits") && (
                          <td>
                            <span class="row nowrap">
                              <button
                                type="button"
                                class="button small"
                                onClick={() => setChosen({ key: scopeKey(rule), panel: "pause" })}
                              >
                                {rule.paused ? "Resume…" : "Pause…"}
                              </button>
                              <button
                                type="button"
                                class="button small"
                                onClick={() => setChosen({ key: scopeKey(rule), panel: "limits" })}
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
            )}
          </Card>
          {subject !== undefined && chosen?.panel === "pause" && (
            <PausePanel key={chosen.key} rule={subject} onClose={close} onDone={reload} />
          )}
          {subject !== undefined && chosen?.panel === "limits" && (
            <LimitsPanel key={chosen.key} rule={subject} onClose={close} onDone={reload} />
          )}
        </div>
      )}
      <p class="small dim">
        Weights of groups are set with <code>limits.set</code> or <code>leasehold limits set</code>.
      </p>
    </>
  );
};
