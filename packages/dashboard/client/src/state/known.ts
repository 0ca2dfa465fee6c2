import type { FlowRule } from "../answers.ts";
import { useTopic } from "./live.ts";
import { moment, useStatistics } from "./moment.ts";
import { usePolled } from "./poll.ts";
import type { Known } from "./queue-rows.ts";
import { backlog, offers } from "./session.ts";

/** All that is known of queues, of now or of the moment that is looked at. What waits and runs is known of now only. */
export const useKnown = (queue?: string) => {
  const isNow = moment.value === undefined;
  const { data: statistics, error } = useStatistics(queue);
  const { data: workers } = useTopic("processes", { when: isNow && offers("history") });
  const { data: flow } = usePolled<{ readonly rules: readonly FlowRule[] }>(
    isNow && offers("flow") ? "flow" : null,
    10_000,
  );
  const known: Known = {
    backlog: isNow ? backlog.value : undefined,
    statistics,
    processes: isNow ? workers?.processes : undefined,
    rules: flow?.rules,
  };
  const isComplete =
    (known.backlog !== undefined || !isNow) && (statistics !== undefined || !offers("history"));
  return { isNow, known, error, isComplete };
};
