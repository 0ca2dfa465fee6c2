import { useState } from "preact/hooks";
import type { JobTypes } from "../../../../src/answers/jobs.ts";
import { ConfirmPanel } from "../../parts/panel.tsx";
import { type Edited, ValueEditor } from "../../parts/value-editor.tsx";
import { usePolled } from "../../state/api.ts";
import { jobPath, navigate } from "../../state/router.ts";
import { knownQueues, knownTypes } from "../../state/session.ts";

const Field = ({
  words,
  value,
  list,
  onChange,
}: {
  readonly words: string;
  readonly value: string;
  readonly list?: { readonly id: string; readonly names: readonly string[] };
  onChange(value: string): void;
}) => (
  <label class="field">
    <span>{words}</span>
    <input
      autocomplete="off"
      list={list?.id}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value.trim())}
    />
    {list !== undefined && (
      <datalist id={list.id}>
        {list.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    )}
  </label>
);

/** Starts a job sequence of any type. */
export const StartPanel = ({ onClose, onDone }: { onClose(): void; onDone(): void }) => {
  const { data } = usePolled<JobTypes>("job-types", null);
  const [typeName, setTypeName] = useState("");
  const [input, setInput] = useState<Edited>();
  const [queue, setQueue] = useState("");
  const [key, setKey] = useState("");
  const defined = data?.jobTypes ?? [];
  const type = defined.find((one) => one.typeName === typeName);
  const startable = defined.filter(({ internal, hasBlockers }) => !internal && !hasBlockers);
  const names = [...new Set([...startable.map((one) => one.typeName), ...knownTypes.value])].sort();
  const isNew = typeName !== "" && !names.includes(typeName);
  const deed = {
    title: typeName === "" ? "Start a job" : `Start ${typeName}`,
    path: "start",
    body: {
      typeName,
      input: input?.value ?? null,
      ...(queue !== "" && { queue }),
      ...(key !== "" && { key }),
    },
    done: `${typeName} started.`,
  };
  return (
    <ConfirmPanel
      deed={deed}
      isReady={typeName !== "" && input !== undefined}
      onClose={onClose}
      onDone={(answer) => {
        onDone();
        navigate(jobPath((answer as { readonly id: string }).id));
      }}
    >
      <Field words="Type" value={typeName} list={{ id: "start-types", names }} onChange={setTypeName} />
      {isNew && (
        <p class="small">There are no jobs of this type. Unless a worker implements it, it will wait.</p>
      )}
      <ValueEditor
        key={`${typeName} ${type === undefined}`}
        label="Input"
        schema={type?.input}
        onChange={setInput}
      />
      <Field
        words="Queue (default: that of its type)"
        value={queue}
        list={{ id: "start-queues", names: knownQueues.value }}
        onChange={setQueue}
      />
      <Field words="Deduplication key (optional)" value={key} onChange={setKey} />
    </ConfirmPanel>
  );
};
