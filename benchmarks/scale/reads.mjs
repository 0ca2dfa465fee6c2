// What operators look at.
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const time = async (work) => {
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return median(times);
};

/** @returns {Promise<{ what: string, ms: number }[]>} */
export const measureReads = async (leasehold) => {
  const reads = {
    "listJobs, newest": () => leasehold.listJobs(),
  };
  const measured = [];
  for (const [what, work] of Object.entries(reads)) measured.push({ what, ms: await time(work) });
  return measured;
};
