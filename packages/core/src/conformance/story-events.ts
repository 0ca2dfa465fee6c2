import type { LeaseholdEventName, LeaseholdEvents } from "../observability/events.ts";
import type { ObservabilityAdapter } from "../observability/adapter.ts";
import { within } from "./patience.ts";

/** Everything that was observed, and a way to wait for more. */
export interface StoryEvents {
  readonly adapter: ObservabilityAdapter;
  all<TName extends LeaseholdEventName>(name: TName): readonly LeaseholdEvents[TName][];
  /** The first event of that name that matches, whether it has happened already or not. */
  first<TName extends LeaseholdEventName>(
    name: TName,
    matches?: (data: LeaseholdEvents[TName]) => boolean,
  ): Promise<LeaseholdEvents[TName]>;
}

interface Observed {
  readonly name: string;
  readonly data: unknown;
}

export const recordEvents = (): StoryEvents => {
  const observed: Observed[] = [];
  const listeners = new Set<(event: Observed) => void>();

  const record = (event: Observed): void => {
    observed.push(event);
    for (const listener of listeners) listener(event);
  };

  return {
    // An observer of every event there is or will be.
    adapter: new Proxy({}, { get: (_target, name: string) => (data: unknown) => record({ name, data }) }),
    all: <TName extends LeaseholdEventName>(name: TName) =>
      observed.filter((event) => event.name === name).map(({ data }) => data as LeaseholdEvents[TName]),
    first: <TName extends LeaseholdEventName>(
      name: TName,
      matches: (data: LeaseholdEvents[TName]) => boolean = () => true,
    ) => {
      const fits = (event: Observed): boolean =>
        event.name === name && matches(event.data as LeaseholdEvents[TName]);
      const past = observed.find(fits);
      if (past) return Promise.resolve(past.data as LeaseholdEvents[TName]);
      const coming = new Promise<LeaseholdEvents[TName]>((resolve) => {
        const listener = (event: Observed): void => {
          if (!fits(event)) return;
          listeners.delete(listener);
          resolve(event.data as LeaseholdEvents[TName]);
        };
        listeners.add(listener);
      });
      return within(coming, `the event ${name}`);
    },
  };
};
