import type { RateLimitOptions, LimitRuleOptions, LimitState } from "leasehold";
import { formatCount, formatDuration } from "leasehold/adapter";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { Output } from "../output/output.ts";
import { type Column, renderTable, type Row } from "../output/table.ts";
import { formatMoment, oneLine, shorten } from "../output/text.ts";
import type { CommandContext } from "./context.ts";

export interface LimitScopeOptions {
  readonly queue?: string;
  readonly type?: string;
}

export interface SetLimitsOptions extends LimitScopeOptions {
  readonly group?: string;
  readonly concurrency?: number | "none";
  readonly rate?: RateLimitOptions | "none";
  readonly groupConcurrency?: number | "none";
  readonly groupRate?: RateLimitOptions | "none";
  readonly weight?: Readonly<Record<string, number | "none">>;
}

const longestName = 28;

const columns: readonly Column[] = [
  { title: "QUEUE", least: 8 },
  { title: "TYPE", least: 12 },
  { title: "STATE" },
  { title: "RUNNING", align: "right" },
  { title: "RATE", align: "right" },
  { title: "PER GROUP", align: "right", dispensable: 2 },
  { title: "LINES", align: "right", dispensable: 1 },
];

const formatRate = (rate: RateLimitOptions | null): string =>
  rate === null ? "" : `${formatCount(rate.limit)}/${formatDuration(rate.perMs).replace(/(\.0)? /, "")}`;

const formatLimit = (concurrency: number | null): string =>
  concurrency === null ? "" : formatCount(concurrency);

const formatPerGroup = ({ perGroup }: LimitState): string =>
  perGroup === null
    ? ""
    : [formatLimit(perGroup.concurrency), formatRate(perGroup.rate)].filter((text) => text !== "").join(" ");

const toRow = ({ colours }: Output, state: LimitState): Row => {
  const isFull = state.concurrency !== null && state.running >= state.concurrency;
  return [
    shorten(oneLine(state.queue), longestName),
    state.typeName === null ? "" : shorten(oneLine(state.typeName), longestName),
    state.paused
      ? { text: "paused", paint: colours.yellow }
      : isFull
        ? { text: "full", paint: colours.yellow }
        : state.tokens === 0
          ? { text: "rate", paint: colours.yellow }
          : "open",
    `${formatCount(state.running)}${state.concurrency === null ? "" : `/${formatLimit(state.concurrency)}`}`,
    formatRate(state.rate),
    formatPerGroup(state),
    state.throttledGroups === 0
      ? formatCount(state.claimableGroups)
      : `${state.claimableGroups}, ${state.throttledGroups} throttled`,
  ];
};

const show = (output: Output, states: readonly LimitState[]): void =>
  output.print(
    renderTable(
      output,
      columns,
      states.map((state) => toRow(output, state)),
    ),
  );

export const showLimits = (context: CommandContext, { queue }: LimitScopeOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, label }) => {
    const { output } = context;
    const states = await leasehold.limits.list({ queue });
    if (output.json) output.printJson({ flow: states });
    else if (states.length === 0) output.note(`No limits, pauses or groups in ${label}.`);
    else show(output, states);
    return exitCodes.done;
  });

type Scope = { readonly queue: string } | { readonly typeName: string; readonly queue?: string };

const readScope = ({ queue, type }: LimitScopeOptions): Scope => {
  if (type !== undefined) return { typeName: type, ...(queue === undefined ? {} : { queue }) };
  if (queue !== undefined) return { queue };
  throw new CliError("Usage", "Which queue or type is meant?", {
    exitCode: exitCodes.usage,
    hint: "Pass --queue or --type.",
  });
};

const orNull = <T>(value: T | "none"): T | null => (value === "none" ? null : value);

const readWeights = (weights: SetLimitsOptions["weight"]): LimitRuleOptions["weights"] =>
  weights && Object.fromEntries(Object.entries(weights).map(([group, weight]) => [group, orNull(weight)]));

const readRule = (options: SetLimitsOptions): LimitRuleOptions => {
  const { concurrency, rate, groupConcurrency, groupRate, weight } = options;
  const hasGroupLimits = groupConcurrency !== undefined || groupRate !== undefined;
  const rule: LimitRuleOptions = {
    concurrency: orNull(concurrency),
    rate: orNull(rate),
    perGroup: hasGroupLimits ? { concurrency: orNull(groupConcurrency), rate: orNull(groupRate) } : undefined,
    weights: readWeights(weight),
  };
  if (Object.values(rule).some((value) => value !== undefined)) return rule;
  throw new CliError("Usage", "Nothing to change.", {
    exitCode: exitCodes.usage,
    hint: "Pass --concurrency, --rate, --group-concurrency, --group-rate or --weight.",
  });
};

type CliLeasehold = Parameters<Parameters<CommandContext["withStore"]>[1]>[0]["leasehold"];

type LimitsApi = CliLeasehold["limits"];

type Change = (leasehold: CliLeasehold) => Promise<LimitState>;

const change = (context: CommandContext, apply: Change): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const state = await apply(leasehold);
    if (output.json) output.printJson(state);
    else show(output, [state]);
    await warnWithoutJobs(context, leasehold, state);
    return exitCodes.done;
  });

/** The queue may not be the one that was meant. */
const warnWithoutJobs = async (
  { output }: CommandContext,
  { jobs }: CliLeasehold,
  { queue, typeName }: LimitState,
): Promise<void> => {
  if (typeName === null || output.json || (await jobs.count({ queue, typeName })).length > 0) return;
  output.warn(
    `Queue ${oneLine(queue)} has no jobs of type ${oneLine(typeName)}.`,
    "For another queue, pass --queue.",
  );
};

export const setLimits = (context: CommandContext, options: SetLimitsOptions): Promise<ExitCode> => {
  const scope = readGroupScope(options);
  const rule = readRule(options);
  return change(context, (leasehold) => leasehold.limits.set({ ...scope, ...rule }));
};

type GroupOptions = LimitScopeOptions & { readonly group?: string };

const readGroupScope = ({ group, ...options }: GroupOptions): Parameters<LimitsApi["resume"]>[0] => {
  const scope = readScope(options);
  if (group === undefined) return scope;
  if ("typeName" in scope) return { ...scope, group };
  throw new CliError("Usage", "A group belongs to a type.", {
    exitCode: exitCodes.usage,
    hint: "Pass --type beside --group.",
  });
};

export const pause = (
  context: CommandContext,
  options: GroupOptions & { readonly for?: number },
): Promise<ExitCode> => {
  const scope = readGroupScope(options);
  const until = options.for === undefined ? undefined : { afterMs: options.for };
  return change(context, (leasehold) => leasehold.limits.pause({ ...scope, until }));
};

export const resume = (context: CommandContext, options: GroupOptions): Promise<ExitCode> => {
  const scope = readGroupScope(options);
  return change(context, (leasehold) => leasehold.limits.resume(scope));
};

export interface GroupsOptions {
  readonly queue?: string;
  readonly throttled: boolean;
  readonly order: "name" | "waiting" | "running";
  readonly limit: number;
  readonly cursor?: string;
}

const columnsGroups: readonly Column[] = [
  { title: "GROUP", least: 12 },
  { title: "WAITING", align: "right" },
  { title: "OLDEST", align: "right" },
  { title: "RUNNING", align: "right" },
  { title: "HELD BY" },
];

const longestNameGroups = 40;
// The store counts no further.
const mostCounted = 1_000;

export const listGroups = (
  context: CommandContext,
  typeName: string,
  { throttled, ...options }: GroupsOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, label }) => {
    const { output } = context;
    const { groups, cursor } = await leasehold.limits.listGroups({
      typeName,
      throttled: throttled ? true : undefined,
      ...options,
    });
    if (output.json) {
      output.printJson({ groups, cursor });
      return exitCodes.done;
    }
    const noteMore = (text: string): void => {
      if (cursor !== null) output.note(`${text}: add --cursor ${cursor}`);
    };
    if (groups.length === 0 && cursor !== null) noteMore("None so far; there may be more, further on");
    else if (groups.length === 0) {
      output.note(
        `No group of ${oneLine(typeName)} has ${throttled ? "throttled jobs" : "jobs"} in ${label}.`,
      );
    }
    if (groups.length === 0) return exitCodes.done;
    const now = (await leasehold.getTime()).getTime();
    const rows = groups.map(({ group, waiting, waitingSince, running: runs, throttledBy, stoppedBy }) => [
      shorten(oneLine(group), longestNameGroups),
      `${formatCount(waiting)}${waiting >= mostCounted ? "+" : ""}`,
      waitingSince === null ? "" : formatMoment(waitingSince, now),
      formatCount(runs),
      throttledBy === null
        ? ""
        : {
            text: stoppedBy === null ? throttledBy : `${throttledBy} by ${stoppedBy}`,
            paint: output.colours.yellow,
          },
    ]);
    output.print(renderTable(output, columnsGroups, rows));
    noteMore("\nThere are more");
    return exitCodes.done;
  });
