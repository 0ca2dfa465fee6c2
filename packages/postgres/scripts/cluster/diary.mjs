// Who led when, and which standby was the synchronous one: to understand a loss afterwards.
import { setInterval } from "node:timers";

const everyMs = 500;

export const keepDiary = (cluster) => {
  const entries = [];
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const seen = await Promise.all(
      cluster.nodes.map(async (node) => {
        if (!(await node.isLeader())) return undefined;
        const standby = (await node.members()).find(({ role }) => role === "sync_standby");
        return `${node.name} (synchronous: ${standby?.name ?? "none"})`;
      }),
    );
    const now = seen.filter(Boolean).join(" and ") || "nobody";
    if (entries.at(-1)?.now !== now) entries.push({ at: Date.now(), now });
    isLooking = false;
  };
  const timer = setInterval(() => void look(), everyMs);
  return {
    /** What has changed since the moment. */
    since: (moment) =>
      entries
        .filter(({ at }) => at >= moment)
        .map(({ at, now }) => `${((at - moment) / 1_000).toFixed(1)} s: ${now}`),
    stop: () => clearInterval(timer),
  };
};

/** When the lost things had been acknowledged, in seconds after the moment, and by whom. */
export const describeLoss = ({ ids, lostOutcomes }, started, moment) => {
  const times = [...ids.map((id) => started.get(id).at), ...lostOutcomes.map(({ at }) => at)];
  if (times.length === 0) return undefined;
  const seconds = (at) => Math.round((at - moment) / 100) / 10;
  return {
    from: seconds(Math.min(...times)),
    to: seconds(Math.max(...times)),
    workers: [...new Set(lostOutcomes.map(({ worker }) => worker))],
    kinds: [...new Set(ids.map((id) => started.get(id).kind))],
  };
};
