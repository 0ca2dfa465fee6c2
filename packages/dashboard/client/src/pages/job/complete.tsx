import { useState } from "preact/hooks";
import { toSegment } from "../../../../src/http/path-segment.ts";
import type { JobRow, JobType, JobTypes } from "../../../../src/answers/jobs.ts";
import { Skeleton } from "../../parts/card.tsx";
import { ConfirmPanel } from "../../parts/panel.tsx";
import { type Edited, ValueEditor } from "../../parts/value-editor.tsx";
import { usePolled } from "../../state/api.ts";

/** The next job of the sequence: one of the types that may follow, or any where these are not known. */
const NextType = ({
  type,
  value,
  onChange,
}: {
  readonly type: JobType | undefined;
  readonly value: string;
  onChange(typeName: string): void;
}) => (
  <label class="field">
    <span>Type of the next job</span>
    {type?.continuesTo == null ? (
      <input
        autocomplete="off"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value.trim())}
      />
    ) : (
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {type.continuesTo.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    )}
  </label>
);

const CompleteForm = ({
  job,
  types,
  onClose,
  onDone,
}: {
  readonly job: JobRow;
  readonly types: readonly JobType[];
  onClose(): void;
  onDone(): void;
}) => {
  const type = types.find(({ typeName }) => typeName === job.typeName);
  const isKnown = type?.continuesTo != null;
  const mayContinue = !isKnown || (type.continuesTo ?? []).length > 0;
  // A type that continues and has no output cannot end here.
  const mayEnd = !mayContinue || type?.hasOutput !== false;
  const [ends, setEnds] = useState(mayEnd && !(isKnown && mayContinue));
  const [isSure, setIsSure] = useState(false);
  const [next, setNext] = useState(type?.continuesTo?.[0] ?? "");
  const [output, setOutput] = useState<Edited>(type?.hasOutput === false ? { value: null } : undefined);
  const [input, setInput] = useState<Edited>();
  const [note, setNote] = useState("");
  const nextType = types.find(({ typeName }) => typeName === next);
  const deed = {
    title: `Complete ${job.typeName}`,
    path: `jobs/${toSegment(job.id)}/complete`,
    body: {
      ...(ends
        ? { output: output?.value ?? null, ...(!isKnown && { endsSequence: isSure }) }
        : { continueWith: { typeName: next, input: input?.value ?? null } }),
      ...(note !== "" && { note }),
    },
    done: ends ? `${job.typeName} completed.` : `${job.typeName} completed, ${next} follows.`,
  };
  const isReady = ends ? output !== undefined && (isKnown || isSure) : next !== "" && input !== undefined;
  return (
    <ConfirmPanel deed={deed} isReady={isReady} onClose={onClose} onDone={onDone}>
      <p>It is completed as you say here, without a worker.</p>
      {mayContinue && mayEnd && (
        <fieldset class="choices">
          <legend class="small dim">Then</legend>
          <label>
            <input type="radio" name="then" checked={!ends} onChange={() => setEnds(false)} />
            another job follows
          </label>
          <label>
            <input type="radio" name="then" checked={ends} onChange={() => setEnds(true)} />
            the sequence ends with an output
          </label>
        </fieldset>
      )}
      {ends && type?.hasOutput !== false && (
        <ValueEditor label="Output" schema={type?.output} onChange={setOutput} />
      )}
      {ends && !isKnown && (
        <label class="check">
          <input
            type="checkbox"
            checked={isSure}
            onChange={(event) => setIsSure(event.currentTarget.checked)}
          />
          Nothing follows. (The job types of this program are not known here.)
        </label>
      )}
      {!ends && (
        <>
          <NextType type={type} value={next} onChange={setNext} />
          <ValueEditor
            key={next}
            label={`Input of ${next === "" ? "the next job" : next}`}
            schema={nextType?.input}
            onChange={setInput}
          />
        </>
      )}
      <label class="field">
        <span>Why, for the log (optional)</span>
        <input
          autocomplete="off"
          maxLength={500}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </label>
    </ConfirmPanel>
  );
};

/** Completes a waiting job: an approval, or something that was done by hand. */
export const CompletePanel = (panel: { readonly job: JobRow; onClose(): void; onDone(): void }) => {
  const { data } = usePolled<JobTypes>("job-types", null);
  return data === undefined ? <Skeleton rows={4} /> : <CompleteForm {...panel} types={data.jobTypes} />;
};
