import { useEffect, useRef } from "preact/hooks";
import { keys } from "../state/settings.ts";
import { Icon } from "./icon.tsx";
import { destinations, isHelpOpen } from "./keys.ts";

const others: readonly (readonly [string, string])[] = [
  ["/", "find a job"],
  ["j k", "next and previous row"],
  ["x", "select the row"],
  ["Enter", "open the row"],
  ["p", "make a plan"],
  ["Esc", "close the plan"],
  [".", "pause or go on"],
  ["?", "this list"],
];

export const HelpDialog = () => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
  }, [isHelpOpen.value]);
  if (!isHelpOpen.value) return null;
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <header class="row">
        <h2 id="help-title">Keys</h2>
        <button
          type="button"
          class="button quiet square side"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      <dl class="keys">
        {others.map(([key, meaning]) => (
          <>
            <dt>
              {key.split(" ").map((single) => (
                <kbd key={single}>{single}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
        {Object.entries(destinations).map(([key, [, name]]) => (
          <>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={keys.value === "on"}
          onChange={(event) => (keys.value = event.currentTarget.checked ? "on" : "off")}
        />
        Keys are on
      </label>
    </dialog>
  );
};
