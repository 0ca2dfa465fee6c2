import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate } from "../state/router.ts";
import { announce, isLive, keys } from "../state/settings.ts";
import { Icon } from "./icon.tsx";

export const isHelpOpen = signal(false);

/** Where `g` and a letter lead. */
const destinations: Readonly<Record<string, readonly [path: string, name: string]>> = {
  o: ["/", "Overview"],
  q: ["/queues", "Queues"],
  j: ["/jobs", "Jobs"],
  f: ["/failed", "Failed"],
  r: ["/recurring", "Recurring jobs"],
  l: ["/limits", "Limits"],
  w: ["/workers", "Workers"],
  d: ["/doctor", "Doctor"],
  a: ["/actions", "Actions"],
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");

const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-row]")];

const move = (step: 1 | -1): void => {
  const all = rows();
  const at = all.findIndex((row) => row === document.activeElement?.closest("[data-row]"));
  const next = at === -1 ? all[step === 1 ? 0 : all.length - 1] : all[at + step];
  next?.querySelector<HTMLElement>("a")?.focus();
  next?.scrollIntoView({ block: "nearest" });
};

const click = (element: HTMLElement | null | undefined): void => element?.click();

/** For the row with the focus: by a button of its own, or selected in a list; else what the page offers first. */
const plan = (): void => {
  const row = document.activeElement?.closest<HTMLElement>("[data-row]");
  const own = row?.querySelector<HTMLElement>("[data-plan]");
  const box = row?.querySelector<HTMLInputElement>("td.pick input");
  if (own == null && box?.checked === false) box.click();
  const offered = (): void => click(own ?? document.querySelector<HTMLElement>("[data-plan]"));
  // A selection shows other buttons.
  if (own == null && box != null) requestAnimationFrame(() => requestAnimationFrame(offered));
  else offered();
};

const plain: Readonly<Record<string, () => void>> = {
  "/": () => document.querySelector<HTMLElement>("#find")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () =>
    click(document.activeElement?.closest("[data-row]")?.querySelector<HTMLElement>("input[type=checkbox]")),
  p: () => plan(),
  ".": () => toggleLive(),
  "?": () => (isHelpOpen.value = true),
};

export const toggleLive = (): void => {
  isLive.value = !isLive.value;
  announce(isLive.value ? "Live." : "Paused. The page stays as it is.");
};

/** Keys of the page. They leave fields, dialogs and the browser's own combinations alone, and can be switched off. */
export const listenForKeys = (): void => {
  let wentAt = Number.NEGATIVE_INFINITY;
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (keys.value === "off" || isTyping(event.target) || document.querySelector("dialog[open]") !== null)
      return;
    const isAfterG = event.timeStamp - wentAt < 1_500;
    wentAt = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
    const destination = isAfterG ? destinations[event.key] : undefined;
    const action = destination === undefined ? plain[event.key] : () => navigate(destination[0]);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
};

const others: readonly (readonly [string, string])[] = [
  ["/", "find a job"],
  ["j k", "next and previous row"],
  ["x", "select the row"],
  ["Enter", "open the row"],
  ["p", "plan for the row"],
  ["Esc", "close the plan"],
  [".", "pause or resume"],
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
