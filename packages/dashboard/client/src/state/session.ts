import { computed, signal } from "@preact/signals";
import type { Right } from "../../../src/answers/jobs.ts";
import type { Backlog, Session } from "../../../src/answers/numbers.ts";
import type { ApiError } from "./api.ts";

/** The viewer, and what the store offers. Set before the first page is shown. */
export const session = signal<Session | undefined>(undefined);

/** Unfinished and failed jobs. The shell reads them for all pages. */
export const backlog = signal<Backlog | undefined>(undefined);

/** Why the backlog cannot be read. It is shown once, on top of the page. */
export const trouble = signal<ApiError | undefined>(undefined);

export const may = (right: Right): boolean => session.value?.can.includes(right) === true;

export const offers = (part: keyof Session["parts"]): boolean => session.value?.parts[part] === true;

/** The filters of jobs that the server takes. */
export const jobFilters = (): Session["filters"] => session.value?.filters ?? [];

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort();

export const knownQueues = computed(() => distinct(backlog.value?.types.map(({ queue }) => queue) ?? []));

export const knownTypes = computed(() =>
  distinct(backlog.value?.types.map(({ typeName }) => typeName) ?? []),
);
