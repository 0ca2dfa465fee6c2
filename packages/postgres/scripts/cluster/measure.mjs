// When work went on after a fault, from the times of completions.

const seconds = (ms) => Math.round(ms / 100) / 10;

/** The first completion of each worker after the moment, in seconds; null for one that has none. */
export const firstCompletions = (completions, workers, moment) =>
  Object.fromEntries(
    workers.map((worker) => {
      const first = completions.find((item) => item.worker === worker && item.at >= moment);
      return [worker, first ? seconds(first.at - moment) : null];
    }),
  );

const windowMs = 2_000;

/** How long after the moment completions come again at four fifths of the rate; null if they do not. */
export const rateBackAfter = (completions, moment, jobsPerSecond) => {
  const times = completions.map(({ at }) => at).filter((at) => at >= moment);
  const enough = Math.ceil((jobsPerSecond * windowMs * 0.8) / 1_000);
  const first = times.findIndex((at, index) => times[index + enough - 1] - at < windowMs);
  return first < 0 ? null : seconds(times[first] - moment);
};

/** The longest time without any completion. */
export const longestGap = (completions, from, to) => {
  const times = [from, ...completions.map(({ at }) => at).filter((at) => at > from && at < to), to];
  return seconds(Math.max(...times.slice(1).map((at, index) => at - times[index])));
};

const short = new Set(["plain", "write", "order"]);

/** How long short jobs that were started after the moment took from their start, by worker: the median, in milliseconds. */
export const medianLatencies = (started, completions, moment) => {
  const byWorker = new Map();
  for (const { id, worker, at } of completions) {
    const start = started.get(id);
    if (!start || start.at < moment || !short.has(start.kind)) continue;
    byWorker.set(worker, [...(byWorker.get(worker) ?? []), at - start.at]);
  }
  const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  return Object.fromEntries([...byWorker].map(([worker, values]) => [worker, Math.max(0, median(values))]));
};

export const inSeconds = seconds;
