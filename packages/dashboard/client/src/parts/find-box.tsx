import { toSegment } from "../../../src/path-segment.ts";
import { useState } from "preact/hooks";
import type { ApiError } from "../state/api.ts";
import { read } from "../state/api.ts";
import { jobPath, jobsPath, navigate } from "../state/router.ts";
import { knownQueues, knownTypes, may } from "../state/session.ts";
import { Icon } from "./icon.tsx";

const isThere = async (id: string): Promise<boolean> => {
  try {
    await read(`jobs/${toSegment(id)}`);
    return true;
  } catch (error) {
    if ((error as ApiError).status === 404) return false;
    throw error;
  }
};

/** An id leads to its job; the name of a type or queue, or a key, to the jobs of it. */
const find = async (text: string): Promise<string> => {
  if (knownTypes.value.includes(text)) return jobsPath({ typeName: text });
  if (knownQueues.value.includes(text)) return jobsPath({ queue: text });
  return !may("payloads") || (await isThere(text)) ? jobPath(text) : jobsPath({ deduplicationKey: text });
};

export const FindBox = () => {
  const [text, setText] = useState("");
  const go = async (): Promise<void> => {
    const wanted = text.trim();
    if (wanted === "") return;
    navigate(await find(wanted).catch(() => jobPath(wanted)));
    setText("");
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <Icon name="find" />
      <input
        id="find"
        type="search"
        aria-label="Find a job by id, type, queue or key"
        placeholder="Job id, type, queue, key…"
        autocomplete="off"
        spellcheck={false}
        list="known-names"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
      <datalist id="known-names">
        {[...new Set([...knownTypes.value, ...knownQueues.value])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
};
