import type { Backlog, Situation } from "../answers.ts";
import { formatAge, formatCount, plural } from "../format.ts";
import { jobsPath } from "./router.ts";

/** Longer than this a job that could run should not wait. */
const longWaitMs = 60_000;

const isLate = (oldest: string | null, now: number): boolean =>
  oldest !== null && now - Date.parse(oldest) > longWaitMs;

/** What there is to say about a store that does not say it itself: from its backlog alone. */
export const situationOf = ({ types, cap }: Backlog, now: number): Situation => {
  const sentences: { text: string; href: string | null }[] = [];
  const late = types
    .filter(({ oldestRunnableAt }) => isLate(oldestRunnableAt, now))
    .sort((a, b) => Date.parse(a.oldestRunnableAt!) - Date.parse(b.oldestRunnableAt!));
  const [latest] = late;
  if (latest !== undefined) {
    const { queue, typeName, oldestRunnableAt } = latest;
    const others =
      late.length === 1 ? "" : ` So have ${plural(late.length - 1, "other type")} for more than a minute.`;
    sentences.push({
      text: `Queue ${queue} is behind: ${typeName} has waited ${formatAge(now - Date.parse(oldestRunnableAt!))} to run.${others}`,
      href: jobsPath({ queue, typeName, status: "pending" }),
    });
  }
  const expired = types.reduce((sum, type) => sum + type.expired, 0);
  if (expired > 0)
    sentences.push({
      text: `${plural(expired, "running job")} lost the worker; another one takes over.`,
      href: jobsPath({ status: "running" }),
    });
  const failed = types.reduce((sum, type) => sum + type.failed, 0);
  const [most] = [...types].sort((a, b) => b.failed - a.failed);
  if (most !== undefined && failed > 0) {
    const all = formatCount(failed) + (most.failed >= cap ? "+" : "");
    sentences.push({
      text:
        most.failed === failed
          ? `${all} failed, all of type ${most.typeName}.`
          : `${all} failed, ${formatCount(most.failed)} of them of type ${most.typeName}.`,
      href: "/failed",
    });
  }
  if (sentences.length === 0)
    return {
      level: "calm",
      sentences: [
        { text: "All is well: nothing has failed, and nothing has waited longer than a minute.", href: null },
      ],
    };
  return { level: late.length > 0 || expired > 0 ? "trouble" : "attention", sentences };
};
