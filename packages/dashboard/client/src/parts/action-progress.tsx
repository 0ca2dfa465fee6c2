import { toSegment } from "../../../src/path-segment.ts";
import { useEffect, useState } from "preact/hooks";
import type { ActionKind, ActionProgress, LoggedAction } from "../answers.ts";
import { formatCount, plural } from "../format.ts";
import { act, type ApiError } from "../state/api.ts";
import { kinds, standOf } from "../state/plan.ts";
import { usePolled } from "../state/poll.ts";
import { announce } from "../state/settings.ts";
import { Link } from "./link.tsx";
import { Problem } from "./notice.tsx";

/** An action under way, or how it ended. */
export const Progress = ({
  kind,
  id,
  expected,
  onEnd,
}: {
  readonly kind: ActionKind;
  readonly id: string;
  readonly expected: number;
  onEnd(): void;
}) => {
  const [everyMs, setEveryMs] = useState(600);
  const { data, error, reload } = usePolled<LoggedAction>(`actions/${toSegment(id)}`, everyMs, {
    evenPaused: true,
  });
  const progress: ActionProgress = data?.result ?? { state: "running" };
  const { changed = 0, skipped = 0, revived = 0 } = progress;
  const { state, words, isOver, canStop, canResume } = standOf(data ?? { result: null, isUnderWay: true });
  useEffect(() => {
    if (!isOver) return;
    announce(`${kinds[kind].name}: ${words}. ${plural(changed, "job")}.`);
    setEveryMs(60_000);
    onEnd();
  }, [isOver, state]);
  const share = state === "done" ? 1 : Math.min(1, (changed + skipped) / Math.max(1, expected));
  const call = async (verb: "stop" | "resume"): Promise<void> => {
    await act(`plans/${kind}/${verb}/${toSegment(id)}`).catch((problem: ApiError) =>
      announce(problem.message),
    );
    setEveryMs(600);
    reload();
  };
  return (
    <div class="stack">
      <p class="big">
        {formatCount(changed)} {kinds[kind].done}
        {revived > 0 && `, ${formatCount(revived)} wait for them again`}
        {skipped > 0 && `, ${formatCount(skipped)} were left alone`}.
      </p>
      <progress max={1} value={share} aria-label={`${kinds[kind].name}, ${words}`} />
      <div class="row">
        <span class={`tag ${state === "failed" ? "bad" : ""}`}>{words}</span>
        {progress.error != null && <span class="small">{progress.error}</span>}
        <span class="side row">
          {canStop && (
            <button type="button" class="button" onClick={() => void call("stop")}>
              Stop
            </button>
          )}
          {canResume && (
            <button type="button" class="button" onClick={() => void call("resume")}>
              Go on
            </button>
          )}
          <Link class="link small" to="/actions">
            Log of actions
          </Link>
        </span>
      </div>
      {error !== undefined && <Problem error={error} />}
    </div>
  );
};
