import { signal } from "@preact/signals";
import { navigate } from "../state/router.ts";
import { announce, isLive, keys } from "../state/settings.ts";

export const isHelpOpen = signal(false);

/** Where `g` and a letter lead. */
export const destinations: Readonly<Record<string, readonly [path: string, name: string]>> = {
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

const plain: Readonly<Record<string, () => void>> = {
  "/": () => document.querySelector<HTMLElement>("#find")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () =>
    click(document.activeElement?.closest("[data-row]")?.querySelector<HTMLElement>("input[type=checkbox]")),
  p: () => click(document.querySelector<HTMLElement>("[data-plan]")),
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
