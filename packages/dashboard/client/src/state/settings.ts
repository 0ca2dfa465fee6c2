import { effect, signal } from "@preact/signals";

/** How far the store's clock is ahead of the browser's, by the last answer with a time. */
let aheadMs = 0;

/** The store's time, updated every second. Ages use it. */
export const now = signal(Date.now());

const tick = (): void => {
  if (document.visibilityState === "visible") now.value = Date.now() + aheadMs;
};

setInterval(tick, 1_000);

document.addEventListener("visibilitychange", tick);

/** Ages and countdowns use the store's clock, not the browser's. */
export const followClock = (answer: unknown): void => {
  const said = (answer as { now?: unknown } | null)?.now;
  if (typeof said !== "string") return;
  const time = Date.parse(said);
  if (Number.isNaN(time)) return;
  aheadMs = time - Date.now();
  now.value = time;
};

/** What a person chose for this browser. Storage may be forbidden; then a choice lasts as long as the page. */
const stored = <T extends string>(name: string, allowed: readonly T[], usual: T) => {
  const key = `leasehold.${name}`;
  const recall = (): string | null => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const known = recall();
  const setting = signal<T>(allowed.find((value) => value === known) ?? usual);
  effect(() => {
    try {
      localStorage.setItem(key, setting.value);
    } catch {
      // Nothing depends on it.
    }
  });
  return setting;
};

export const theme = stored("theme", ["system", "light", "dark"], "system");

export const zone = stored("zone", ["local", "utc"], "local");

export const keys = stored("keys", ["on", "off"], "on");

/** While false, nothing is read automatically. */
export const isLive = signal(true);

/** Read out by screen readers: the result of an action. */
export const announcement = signal("");

export const announce = (text: string): void => {
  // The same text twice would not be read out again.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
};

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
});
