import { useState } from "preact/hooks";
import { toSegment } from "../../../../src/http/path-segment.ts";
import type { JobDetail, JobTypes } from "../../../../src/answers/jobs.ts";
import { PlanPanel } from "../../parts/action-panel.tsx";
import { Problem, Skeleton } from "../../parts/card.tsx";
import { Icon } from "../../parts/icon.tsx";
import { SidePanel } from "../../parts/panel.tsx";
import { type Edited, ValueEditor } from "../../parts/value-editor.tsx";
import { act, type ApiError, usePolled } from "../../state/api.ts";
import { canRepeat, diffInputs, formatPath, type InputChange } from "../../state/input-diff.ts";
import { announce } from "../../state/settings.ts";

const Changes = ({ changes }: { readonly changes: readonly InputChange[] }) => (
  <ul class="notes" aria-label="Changes">
    {changes.map(({ path, ...change }) => (
      <li key={path.join(".")}>
        <Icon name="redrive" />
        <span>
          <b>{formatPath(path)}</b>{" "}
          {"value" in change ? <code>{JSON.stringify(change.value)}</code> : "is removed"}
        </span>
      </li>
    ))}
  </ul>
);

/** Changes the input of a waiting job, or runs a failed one again with another input; then the others of its cause. */
export const EditPanel = ({
  detail,
  onClose,
  onDone,
}: {
  readonly detail: JobDetail;
  onClose(): void;
  onDone(): void;
}) => {
  // The job changes while the panel is open; the panel is about the job as it was.
  const [{ job, attempts }] = useState(detail);
  const { data } = usePolled<JobTypes>("job-types", null);
  const [edited, setEdited] = useState<Edited>({ value: job.input });
  const [problem, setProblem] = useState<ApiError>();
  const [stage, setStage] = useState<"edit" | "busy" | "done" | "others">("edit");
  const isFailed = job.status === "failed";
  const cause = attempts.find(({ fingerprint }) => fingerprint !== null)?.fingerprint ?? undefined;
  const changes = edited === undefined ? [] : diffInputs(job.input, edited.value);
  const title = isFailed ? "Edit the input and redrive" : "Edit the input";
  const run = async (): Promise<void> => {
    setStage("busy");
    setProblem(undefined);
    try {
      await act(`jobs/${toSegment(job.id)}/edit`, { input: edited?.value });
      setStage("done");
      announce(isFailed ? "It runs again with the changed input." : "The input is changed.");
      onDone();
    } catch (error) {
      setProblem(error as ApiError);
      setStage("edit");
    }
  };
  if (stage === "others" && cause !== undefined)
    return (
      <PlanPanel
        kind="edit"
        choice={{ filter: { fingerprint: [cause], typeName: [job.typeName] }, changes }}
        title="the others of its cause"
        onClose={onClose}
        onDone={onDone}
      />
    );
  return (
    <SidePanel title={title} label={title} stage={stage === "done" ? "done" : "edit"} onClose={onClose}>
      {stage === "done" ? (
        <>
          <p class="big">{isFailed ? "It runs again with the changed input." : "The input is changed."}</p>
          <Changes changes={changes} />
          {isFailed && cause !== undefined && canRepeat(changes) && (
            <p>When you have seen that it helps, the same change can be made for the others of its cause.</p>
          )}
          <div class="row">
            {isFailed && cause !== undefined && canRepeat(changes) && (
              <button type="button" class="button primary" onClick={() => setStage("others")}>
                The same for the others…
              </button>
            )}
            <button type="button" class="button" onClick={onClose}>
              Close
            </button>
          </div>
        </>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (changes.length > 0 && stage === "edit") void run();
          }}
        >
          {data === undefined ? (
            <Skeleton rows={4} />
          ) : (
            <ValueEditor
              label="Input"
              schema={data.jobTypes.find(({ typeName }) => typeName === job.typeName)?.input}
              initial={job.input}
              onChange={setEdited}
            />
          )}
          {changes.length > 0 && <Changes changes={changes} />}
          {problem !== undefined && <Problem error={problem} />}
          <div class="row">
            <button
              type="submit"
              class="button primary"
              disabled={edited === undefined || changes.length === 0 || stage === "busy"}
            >
              {isFailed ? "Redrive with this input" : "Change the input"}
            </button>
            <button type="button" class="button" onClick={onClose}>
              Do nothing
            </button>
          </div>
          <p class="small dim">
            Hidden values stay as they are. It is written to the log of actions, with your name and without
            the input.
          </p>
        </form>
      )}
    </SidePanel>
  );
};
