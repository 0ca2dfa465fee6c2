import { signal } from "@preact/signals";

/** How far the store's clock is ahead of the browser's, by the last answer that said so. */
let aheadMs = 0;

/** The store's time, a second at a time. Whatever shows an age reads it. */
export const now = signal(Date.now());

const tick = (): void => {
  if (document.visibilityState === "visible") now.value = Date.now() + aheadMs;
};

setInterval(tick, 1_000);
document.addEventListener("visibilitychange", tick);

/** Ages and countdowns go by the store's clock, whatever the browser's says. */
export const followClock = (answer: unknown): void => {
  const said = (answer as { now?: unknown } | null)?.now;
  if (typeof said !== "string") return;
  const time = Date.parse(said);
  if (Number.isNaN(time)) return;
  aheadMs = time - Date.now();
  now.value = time;
};
