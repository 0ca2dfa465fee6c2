import { useEffect, useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { ActionKind, ActionPage, LoggedAction } from "../../../src/answers/jobs.ts";
import { Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { Age, Time } from "../parts/job-state.tsx";
import { Top } from "../parts/shell.tsx";
import { kinds, standOf } from "../state/action.ts";
import { act, type ApiError, usePolled } from "../state/api.ts";
import { formatCount, plural } from "../state/format.ts";
import { changeQuery, place, withQuery } from "../state/router.ts";
import { may } from "../state/session.ts";

/** The jobs of an action, in a few words. */
const subject = (plan: LoggedAction["plan"]): string => {
  const { ids, filter, before: _before, pace: _pace, ...rest } = plan;
  if (Array.isArray(ids)) return ids.length === 1 ? String(ids[0]) : plural(ids.length, "job");
  const named = Object.entries((filter as object | undefined) ?? rest).map(
    ([name, value]) => `${name} ${[value].flat().join(", ")}`,
  );
  return named.length === 0 ? "all" : named.join(", ");
};

/** While it has not reached them. */
const ofExpected = ({ state, expected }: LoggedAction["result"]): string =>
  state === "done" || expected == null ? "" : ` of ${formatCount(expected)}`;

const outcome = ({ result, user }: LoggedAction): string => {
  const { changed, revived, skipped, error, by, stoppedBy } = result;
  const numbers = [
    changed === undefined ? "" : `${formatCount(changed)}${ofExpected(result)} changed`,
    revived === undefined || revived === 0 ? "" : `${formatCount(revived)} revived`,
    skipped === undefined || skipped === 0 ? "" : `${formatCount(skipped)} left alone`,
    error ?? "",
    by === undefined || by === user ? "" : `resumed by ${by}`,
    stoppedBy === undefined ? "" : `stopped by ${stoppedBy}`,
  ];
  return numbers.filter(Boolean).join(", ");
};

const isPlanned = (kind: string): kind is ActionKind => Object.hasOwn(kinds, kind);

const Row = ({ action, onChange }: { readonly action: LoggedAction; onChange(problem?: ApiError): void }) => {
  const { state, words, canStop, canResume } = standOf(action.result);
  const { kind } = action;
  const call = async (verb: "stop" | "resume"): Promise<void> => {
    try {
      await act(`plans/${kind}/${verb}/${toSegment(action.id)}`);
      onChange();
    } catch (error) {
      onChange(error as ApiError);
    }
  };
  return (
    <tr>
      <td>
        <Time at={action.startedAt} />{" "}
        <span class="dim small">
          <Age at={action.startedAt} />
        </span>
      </td>
      <td class="strong">{action.user}</td>
      <td>{isPlanned(kind) ? kinds[kind].name : kind.replaceAll("_", " ")}</td>
      <td class="mono wide">{subject(action.plan)}</td>
      <td>
        <span class={`tag ${state === "failed" ? "bad" : state === "done" ? "ok" : "new"}`}>{words}</span>
      </td>
      <td>{outcome(action)}</td>
      <td>
        {isPlanned(kind) && may(kinds[kind].needs) && canStop && (
          <button type="button" class="button small" onClick={() => void call("stop")}>
            Stop
          </button>
        )}
        {isPlanned(kind) && may(kinds[kind].needs) && canResume && (
          <button type="button" class="button small" onClick={() => void call("resume")}>
            Resume
          </button>
        )}
      </td>
    </tr>
  );
};

export const ActionsPage = () => {
  const cursor = place.value.query.get("cursor") ?? undefined;
  const [everyMs, setEveryMs] = useState(5_000);
  const { data, error, reload } = usePolled<ActionPage>(withQuery("actions", { cursor }), everyMs);
  const isAnyRunning = data?.actions.some(({ result }) => result.state === "running") === true;
  useEffect(() => setEveryMs(isAnyRunning ? 1_000 : 5_000), [isAnyRunning]);
  const [problem, setProblem] = useState<ApiError>();
  const shown = problem ?? error;
  return (
    <>
      <Top title="Actions" />
      {shown !== undefined && <Problem error={shown} />}
      <section class="card" aria-label="Actions">
        {data === undefined && error === undefined && <Skeleton />}
        {data?.actions.length === 0 && (
          <Empty icon="actions" title="No actions yet.">
            What people redrive, cancel, delete, pause or trigger is written down here, with who did it and
            what came of it.
          </Empty>
        )}
        {data !== undefined && data.actions.length > 0 && (
          <Scroll label="Actions">
            <table>
              <thead>
                <tr>
                  <th>When</th>
                  <th>Who</th>
                  <th>What</th>
                  <th class="wide">Of</th>
                  <th>State</th>
                  <th>Outcome</th>
                  <th>
                    <span class="unseen">Stop or resume</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.actions.map((action) => (
                  <Row
                    key={action.id}
                    action={action}
                    onChange={(next) => {
                      setProblem(next);
                      reload();
                    }}
                  />
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
        {(data?.cursor != null || cursor !== undefined) && (
          <div class="bar bottom">
            <span class="row side">
              {cursor !== undefined && (
                <button type="button" class="button" onClick={() => changeQuery({ cursor: undefined })}>
                  Latest
                </button>
              )}
              {data?.cursor != null && (
                <button
                  type="button"
                  class="button"
                  onClick={() => changeQuery({ cursor: data.cursor ?? undefined })}
                >
                  Older
                </button>
              )}
            </span>
          </div>
        )}
      </section>
    </>
  );
};
