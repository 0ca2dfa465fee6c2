import type { JobStatistics } from "leasehold";
import { comparison } from "../answers/numbers.ts";
import { optional, text as name } from "../http/fields.ts";
import { compareDeployments, fewestSamples } from "../numbers/compare.ts";
import { rangeFields, resolveRange } from "../numbers/range.ts";
import { get, type Route } from "./route.ts";

/** Processes without a deployment count as one of this name. */
const unnamed = "(none)";

/** The deployments that ended jobs, the latest first. */
const listDeployments = (stretches: readonly JobStatistics<string | null>[]) => {
  const known = new Map<string, { at: number; ended: number }>();
  for (const { deployment, from, completed, failed } of stretches) {
    const key = deployment ?? unnamed;
    const entry = known.get(key) ?? { at: from.getTime(), ended: 0 };
    known.set(key, { at: Math.min(entry.at, from.getTime()), ended: entry.ended + completed + failed });
  }
  return [...known]
    .filter(([, { ended }]) => ended > 0)
    .map(([deployment, { at, ended }]) => ({ deployment, firstSeenAt: at, ended }))
    .sort((a, b) => b.firstSeenAt - a.firstSeenAt || (a.deployment < b.deployment ? 1 : -1));
};

const toName = (given: string): string | null => (given === unnamed ? null : given);

const compare = get({
  path: "deployments/compare",
  needs: "read",
  summary:
    "Two deployments side by side: failures and run time of each type. By default the latest two of the time asked for; `(none)` stands for processes without a deployment.",
  isExpensive: true,
  query: { ...rangeFields, one: optional(name()), other: optional(name()) },
  answer: comparison,
  handle: async ({ leasehold, stateAdapter, now }, { query }) => {
    const { from, before, bucketMs } = resolveRange(query, await now(), { mostParts: 200 });
    const stretch = { from: new Date(from), before: new Date(before), byDeployment: true } as const;
    const [stretches, rows] =
      stateAdapter.history === undefined
        ? [[], []]
        : await Promise.all([
            leasehold.history.getStatistics({ ...stretch, everyMs: bucketMs, byType: false }),
            leasehold.history.getStatistics(stretch),
          ]);
    const deployments = listDeployments(stretches);
    const other = query.other ?? deployments.find(({ deployment }) => deployment !== query.one)?.deployment;
    const one = query.one ?? deployments.find(({ deployment }) => deployment !== other)?.deployment;
    const isChosen = one !== undefined && other !== undefined;
    return {
      from: stretch.from.toISOString(),
      before: stretch.before.toISOString(),
      fewestSamples,
      deployments: deployments.map(({ firstSeenAt, ...rest }) => ({
        ...rest,
        firstSeenAt: new Date(firstSeenAt).toISOString(),
      })),
      one: one ?? null,
      other: other ?? null,
      types: isChosen ? compareDeployments(rows, toName(one), toName(other)) : [],
    };
  },
});

export const compareRoutes: readonly Route[] = [compare];
