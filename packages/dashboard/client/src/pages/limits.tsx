import { useState } from "preact/hooks";
import type { FlowLimits, FlowRule } from "../answers.ts";
import { formatCount, formatDuration } from "../format.ts";
import { Card, Scroll } from "../parts/card.tsx";
import { Link } from "../parts/link.tsx";
import { Empty, Problem, Skeleton } from "../parts/notice.tsx";
import { Top } from "../parts/shell.tsx";
import { act, type ApiError } from "../state/api.ts";
import { usePolled } from "../state/poll.ts";
import { jobsPath, place } from "../state/router.ts";
import { backlog, may } from "../state/session.ts";
import { announce } from "../state/settings.ts";

const describe = (limits: FlowLimits | null): string => {
  if (limits === null) return "–";
  const parts = [
    limits.concurrency === null ? "" : `${formatCount(limits.concurrency)} at once`,
    limits.rate === null ? "" : `${formatCount(limits.rate.limit)} in ${formatDuration(limits.rate.perMs)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "–" : parts.join(", ");
};

const Use = ({ rule }: { readonly rule: FlowRule }) => {
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
const withQueues = (rules: readonly FlowRule[]): FlowRule[] => {
  const known = new Set(rules.map(scopeKey));
  const rest = [...new Set(backlog.value?.types.map(({ queue }) => queue))]
    .filter((queue) => !known.has(scopeKey({ queue, typeName: null })))
    .map((queue): FlowRule => ({
      queue,
      typeName: null,
      paused: false,
      concurrency: null,
      rate: null,
      perGroup: null,
      running: 0,
      tokens: null,
      openLines: 0,
      heldLines: 0,
    }));
  return [...rules, ...rest].sort(
    (a, b) => a.queue.localeCompare(b.queue) || (a.typeName ?? "").localeCompare(b.typeName ?? ""),
  );
};

export const LimitsPage = () => {
  const { data, error, reload } = usePolled<{ readonly rules: readonly FlowRule[] }>("flow");
  const [problem, setProblem] = useState<ApiError>();
  const [busy, setBusy] = useState<string>();
  const wanted = place.value.query.get("queue");
  const rules = data && withQueues(data.rules).filter(({ queue }) => wanted === null || queue === wanted);
  const shown = problem ?? error;
  const toggle = async (rule: FlowRule): Promise<void> => {
    const verb = rule.paused ? "resume" : "pause";
    setBusy(scopeKey(rule));
    setProblem(undefined);
    try {
      await act(`flow/${verb}`, {
        queue: rule.queue,
        ...(rule.typeName !== null && { typeName: rule.typeName }),
      });
      announce(`${rule.typeName ?? `Queue ${rule.queue}`} ${verb}d.`);
      reload();
    } catch (refusal) {
      setProblem(refusal as ApiError);
    }
    setBusy(undefined);
  };
  return (
    <>
      <Top title="Limits" />
      {shown !== undefined && <Problem error={shown} />}
      {rules === undefined && error === undefined && <Skeleton />}
      {rules !== undefined && (
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
              Set one with <code>leasehold.setFlow</code> or{" "}
              <code>leasehold flow set --queue mail --concurrency 10</code>.
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
                    <th class="number">Lines held back</th>
                    {may("flow") && <th>Actions</th>}
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
                      <td>{describe(rule)}</td>
                      <td>
                        <Use rule={rule} />
                      </td>
                      <td class="number">{rule.tokens === null ? "–" : formatCount(rule.tokens)}</td>
                      <td>{describe(rule.perGroup)}</td>
                      <td class="number">{formatCount(rule.heldLines)}</td>
                      {may("flow") && (
                        <td>
                          <button
                            type="button"
                            class="button small"
                            disabled={busy === scopeKey(rule)}
                            onClick={() => void toggle(rule)}
                          >
                            {rule.paused ? "Resume" : "Pause"}
                          </button>
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )}
        </Card>
      )}
      <p class="small dim">
        A pause lets running jobs finish and starts no more. Limits are changed with <code>setFlow</code> or{" "}
        <code>leasehold flow set</code>.
      </p>
    </>
  );
};
