import { isRecentFailure } from "leasehold/doctor";

export interface Sentence {
  readonly text: string;
  /** A page with the jobs that it is about, below the base path. */
  readonly href: string | null;
  /** Since when it has been so, if that is known. */
  readonly since: Date | null;
}

export interface Summary {
  readonly level: "calm" | "attention" | "trouble";
  readonly sentences: readonly Sentence[];
}

/** A queue with jobs that wait too long. */
export interface LateQueue {
  readonly queue: string;
  /** How long the oldest of them has waited. */
  readonly oldestMs: number;
  readonly runnable: number;
  /** Since when its jobs have been starting late; null where that is not known. */
  readonly since: number | null;
}

/** What failed jobs have in common. */
export interface FailedGroup {
  readonly fingerprint: string | null;
  readonly name: string | null;
  readonly count: number;
  readonly lastFailedAt: number;
  readonly firstSeenAt: number | null;
  readonly firstDeployment: string | null;
}

/** The results of doctor's checks that the summary describes. */
export interface Judgement {
  readonly now: number;
  /** Queues with types that no worker serves. */
  readonly unserved: readonly (LateQueue & { readonly typeNames: readonly string[] })[];
  /** Queues that workers do not keep up with. */
  readonly behind: readonly LateQueue[];
  /** Running jobs whose workers are gone. */
  readonly stuck: number;
  readonly paused: readonly { readonly queue: string; readonly typeName: string | null }[];
  /** Those with the most jobs first. */
  readonly failed: readonly FailedGroup[];
}

/** Numbers are counted up to here. */
const cap = 10_000;

const linkTo = (path: string, query: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(query).toString()}`;

const lasting = (ms: number): string => {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1_000)} s`;
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
};

const counted = (count: number, noun: string): string => {
  const number = count >= cap ? `${cap.toLocaleString("en")} or more` : count.toLocaleString("en");
  return `${number} ${noun}${count === 1 ? "" : "s"}`;
};

const sentence = (text: string, href: string | null, since: number | null = null): Sentence => ({
  text,
  href,
  since: since === null ? null : new Date(since),
});

const pending = (queue: string): string => linkTo("jobs", { queue, status: "pending", order: "oldest" });

const describeCause = ({ count, name, fingerprint, ...cause }: FailedGroup, all: number): Sentence => {
  const origin = cause.firstDeployment === null ? "" : `, first seen in deployment ${cause.firstDeployment}`;
  return sentence(
    `${count.toLocaleString("en")} of ${counted(all, "failed job")} share one cause: ${name ?? "an error"}${origin}.`,
    linkTo("failed", { cause: fingerprint! }),
    cause.firstSeenAt,
  );
};

const describeFailures = ({ failed, now }: Judgement): { isRecent: boolean; sentence?: Sentence } => {
  const all = failed.reduce((sum, { count }) => sum + count, 0);
  const [first] = failed;
  if (first === undefined || all === 0) return { isRecent: false };
  if (!failed.some(({ lastFailedAt }) => isRecentFailure(lastFailedAt, now)))
    return {
      isRecent: false,
      sentence: sentence(`${counted(all, "job")} failed, none in the last hour.`, "failed"),
    };
  const isShared = all > 1 && first.count * 2 >= all && first.fingerprint !== null;
  return {
    isRecent: true,
    sentence: isShared
      ? describeCause(first, all)
      : sentence(
          `${counted(all, "job")} failed and ${all === 1 ? "waits" : "wait"} for a decision.`,
          "failed",
        ),
  };
};

/** The state of all queues in a few sentences, the most urgent first. */
export const describeSummary = (judgement: Judgement): Summary => {
  const { unserved, behind, stuck, paused } = judgement;
  const failures = describeFailures(judgement);
  const sentences = [
    ...unserved.map(({ queue, typeNames, oldestMs }) =>
      sentence(
        `No worker takes ${typeNames.join(", ")} in queue ${queue}: the oldest job has waited ${lasting(oldestMs)}.`,
        pending(queue),
      ),
    ),
    ...(stuck === 0
      ? []
      : [sentence(`The workers of ${counted(stuck, "running job")} have gone silent.`, "workers")]),
    ...behind.map(({ queue, oldestMs, runnable, since }) =>
      sentence(
        `Queue ${queue} is behind by ${lasting(oldestMs)}: ${counted(runnable, "job")} could run now.`,
        pending(queue),
        since,
      ),
    ),
    ...paused.map(({ queue, typeName }) =>
      sentence(
        typeName === null ? `Queue ${queue} is paused.` : `Type ${typeName} is paused in queue ${queue}.`,
        linkTo("limits", { queue }),
      ),
    ),
    ...(failures.isRecent ? [failures.sentence!] : []),
  ];
  if (sentences.length > 0)
    return { level: unserved.length + stuck > 0 ? "trouble" : "attention", sentences };
  const calm = "No job has waited for more than a minute";
  return {
    level: "calm",
    sentences: failures.sentence
      ? [sentence(`${calm}.`, null), failures.sentence]
      : [sentence(`${calm}, and none has failed.`, null)],
  };
};
