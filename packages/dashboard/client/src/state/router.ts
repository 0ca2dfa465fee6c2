import { computed, signal } from "@preact/signals";
import { fromSegment, toSegment } from "../../../src/http/path-segment.ts";
import { addressOf, pathOf } from "./api.ts";

interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const readPlace = (): Place => ({
  path: pathOf(location.pathname) ?? "/",
  query: new URLSearchParams(location.search),
});

/** The address of the page. It contains all state of a view, so that reload, back and a copied address keep it. */
export const place = signal<Place>(readPlace());

history.scrollRestoration = "manual";

const heightOf = (): number => document.documentElement.scrollHeight - innerHeight;

/** Scrolls back when the content is there again, unless the user has scrolled meanwhile. */
const restoreScroll = (state: unknown): void => {
  const y = (state as { readonly y?: number } | null)?.y ?? 0;
  const end = performance.now() + 4_000;
  const given = new AbortController();
  for (const event of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(event, () => given.abort(), { once: true, passive: true, signal: given.signal });
  const step = (): void => {
    if (given.signal.aborted) return;
    scrollTo(0, Math.min(y, heightOf()));
    if (heightOf() < y && performance.now() < end) requestAnimationFrame(step);
    else given.abort();
  };
  requestAnimationFrame(step);
};

const rememberScroll = (): void => history.replaceState({ y: scrollY }, "");

let scrolled: ReturnType<typeof setTimeout> | undefined;

addEventListener(
  "scroll",
  () => {
    clearTimeout(scrolled);
    scrolled = setTimeout(rememberScroll, 200);
  },
  { passive: true },
);

restoreScroll(history.state);

addEventListener("popstate", ({ state }) => {
  clearTimeout(scrolled);
  place.value = readPlace();
  restoreScroll(state);
});

/** The parts of the path; undefined if they cannot be read. */
export const parts = computed((): readonly string[] | undefined => {
  try {
    return place.value.path.split("/").filter(Boolean).map(fromSegment);
  } catch {
    return undefined;
  }
});

export const navigate = (target: string, { replace = false } = {}): void => {
  const address = addressOf(target);
  clearTimeout(scrolled);
  if (!replace) rememberScroll();
  if (replace) history.replaceState(history.state, "", address);
  else history.pushState(null, "", address);
  const before = place.value.path;
  place.value = readPlace();
  if (!replace && before !== place.value.path) scrollTo(0, 0);
};

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A path with its query. What is undefined or empty is left out. */
export const withQuery = (path: string, query: Query): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values = value === undefined ? [] : typeof value === "string" ? [value] : value;
    for (const single of values) if (single !== "") search.append(name, single);
  }
  return search.size === 0 ? path : `${path}?${search}`;
};

/** The path of this view with part of its query changed. */
export const thisPathWith = (change: Query): string => {
  const { path, query } = place.value;
  const all: Record<string, string | readonly string[] | undefined> = {};
  for (const name of new Set(query.keys())) all[name] = query.getAll(name);
  return withQuery(path, { ...all, ...change });
};

/** Changes part of the query of this view. */
export const changeQuery = (change: Query, options?: { replace?: boolean }): void =>
  navigate(thisPathWith(change), options);

export const jobPath = (id: string): string => `/jobs/${toSegment(id)}`;

/** The process that runs a worker. */
export const workerPath = (workerId: string): string => withQuery("/workers", { worker: workerId });

export const treePath = (id: string): string => `/trees/${toSegment(id)}`;

export const jobsPath = (query: Query): string => withQuery("/jobs", query);
