import type { TypeBacklog } from "leasehold/adapter";
import type { Services } from "../server/services.ts";

export interface Sentence {
  readonly text: string;
  /** A page with the jobs that it is about, below the base path. */
  readonly href: string | null;
}

export interface Situation {
  readonly level: "calm" | "attention" | "trouble";
  readonly sentences: readonly Sentence[];
}

export interface Facts {
  readonly now: number;
  readonly backlog: readonly TypeBacklog[];
  /** By what each live worker serves; undefined where that is not known. */
  readonly workers:
    | readonly { readonly queues: readonly string[]; readonly typeNames: readonly string[] }[]
    | undefined;
  readonly pausedQueues: readonly string[];
  readonly causes: readonly {
    readonly fingerprint: string | null;
    readonly name: string | null;
    readonly count: number;
  }[];
}

/** Longer than a worker that is alive leaves a job. */
const lateMs = 60_000;
const cap = 10_000;

interface QueueState {
  readonly queue: string;
  readonly runnable: number;
  readonly oldestMs: number;
  readonly unserved: readonly string[];
}

const linkTo = (path: string, query: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(query).toString()}`;

const lasting = (ms: number): string => {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1_000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
};

const counted = (count: number, noun: string): string => {
  const number = count >= cap ? `${cap.toLocaleString("en")} or more` : count.toLocaleString("en");
  return `${number} ${noun}${count === 1 ? "" : "s"}`;
};

const sumQueues = ({ now, backlog, workers }: Facts): QueueState[] => {
  const byQueue = new Map<string, TypeBacklog[]>();
  for (const type of backlog) byQueue.set(type.queue, [...(byQueue.get(type.queue) ?? []), type]);
  return [...byQueue].map(([queue, types]) => ({
    queue,
    runnable: types.reduce((sum, { runnable }) => sum + runnable, 0),
    oldestMs: Math.max(
      0,
      ...types.map(({ oldestRunnableAt }) => (oldestRunnableAt === null ? 0 : now - oldestRunnableAt)),
    ),
    unserved: types
      .filter(({ runnable, typeName }) => {
        const isServed = workers?.some(
          (worker) => worker.queues.includes(queue) && worker.typeNames.includes(typeName),
        );
        return runnable > 0 && isServed === false;
      })
      .map(({ typeName }) => typeName),
  }));
};

/** The sentences of queues, the worst first. */
const describeQueues = (facts: Facts): { trouble: Sentence[]; attention: Sentence[] } => {
  const late = sumQueues(facts)
    .filter(({ oldestMs, queue }) => oldestMs > lateMs && !facts.pausedQueues.includes(queue))
    .sort((a, b) => b.oldestMs - a.oldestMs);
  const sentenceOf = ({ queue, runnable, oldestMs, unserved }: QueueState): Sentence => ({
    text:
      unserved.length > 0
        ? `No live worker serves ${unserved.join(", ")} in queue ${queue}: the oldest job has waited ${lasting(oldestMs)}.`
        : `Queue ${queue} is behind by ${lasting(oldestMs)}: ${counted(runnable, "job")} could run now.`,
    href: linkTo("jobs", { queue, status: "pending", order: "oldest" }),
  });
  return {
    trouble: late.filter(({ unserved }) => unserved.length > 0).map(sentenceOf),
    attention: late.filter(({ unserved }) => unserved.length === 0).map(sentenceOf),
  };
};

const describeFailures = ({ causes }: Facts): Sentence[] => {
  const [first] = causes;
  const all = causes.reduce((sum, { count }) => sum + count, 0);
  if (first === undefined || all === 0) return [];
  if (all < 2 || first.count * 2 < all || first.fingerprint === null)
    return [
      {
        text: `${counted(all, "job")} failed and ${all === 1 ? "waits" : "wait"} for somebody to look.`,
        href: "failed",
      },
    ];
  return [
    {
      text: `${first.count.toLocaleString("en")} of ${counted(all, "failed job")} share one cause: ${first.name ?? "an error"}.`,
      href: linkTo("failed", { cause: first.fingerprint }),
    },
  ];
};

/** What somebody would say who has just looked at everything. */
export const judge = (facts: Facts): Situation => {
  const { trouble, attention } = describeQueues(facts);
  const paused = facts.pausedQueues.map((queue) => ({
    text: `Queue ${queue} is paused.`,
    href: linkTo("limits", { queue }),
  }));
  const expired = facts.backlog.reduce((sum, type) => sum + type.expired, 0);
  const silent: Sentence[] =
    expired === 0
      ? []
      : [{ text: `The workers of ${counted(expired, "running job")} have gone silent.`, href: "workers" }];
  const failures = describeFailures(facts);
  const sentences = [...trouble, ...attention, ...silent, ...paused, ...failures];
  if (sentences.length === 0)
    return {
      level: "calm",
      sentences: [{ text: "No job has waited for more than a minute, and none has failed.", href: null }],
    };
  return { level: trouble.length > 0 ? "trouble" : "attention", sentences };
};

export const describeSituation = async ({ leasehold, stateAdapter, now }: Services): Promise<Situation> => {
  const { statistics, flow, history } = stateAdapter;
  const [time, backlog, rules, processes, failures] = await Promise.all([
    now(),
    statistics?.measureBacklog({ cap }) ?? [],
    flow === undefined ? [] : leasehold.getFlow(),
    history === undefined ? undefined : leasehold.listProcesses(),
    history === undefined ? undefined : leasehold.listFailureCauses({ scanLimit: cap }),
  ]);
  const failed = backlog.reduce((sum, type) => sum + type.failed, 0);
  return judge({
    now: time,
    backlog,
    workers: processes
      ?.filter(({ alive }) => alive)
      .flatMap(({ workers }) =>
        workers.map(({ queues, typeNames }) => ({ queues: queues.map(({ name }) => name), typeNames })),
      ),
    pausedQueues: rules
      .filter(({ paused, typeName }) => paused && typeName === null)
      .map(({ queue }) => queue),
    causes: failures?.causes ?? (failed === 0 ? [] : [{ fingerprint: null, name: null, count: failed }]),
  });
};
