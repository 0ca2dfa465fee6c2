// The table at the end.

const cell = (value, width) => String(value ?? "never").padStart(width);

const columns = [
  ["fault", 11, (round) => round.fault],
  ["new leader s", 13, (round) => round.newLeader],
  ["takes writes s", 15, (round) => round.takesWrites],
  ["first job s", 12, (round) => round.firstCompletion],
  ["slowest s", 10, (round) => round.slowestWorker],
  ["rate back s", 12, (round) => round.rateBack],
  ["pause s", 8, (round) => round.longestGap],
  ["latency ms", 11, (round) => Math.max(...Object.values(round.latencies))],
  ["lost starts", 12, (round) => round.lost.starts],
  ["lost outcomes", 14, (round) => round.lost.outcomes],
  ["doubled", 8, (round) => round.doubled],
  ["leader", 10, (round) => (round.wentBack ? "went back" : "stayed")],
];

export const printReport = ({ mode, seed, rounds, problems, ...totals }) => {
  const lines = [
    "",
    `${mode} mode, seed ${seed}`,
    columns.map(([title, width]) => title.padStart(width)).join(""),
    ...rounds.map((round) => columns.map(([, width, read]) => cell(read(round), width)).join("")),
    "",
    ...Object.entries(totals).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    problems.length === 0 ? "Everything is as it should be." : `Wrong:\n  ${problems.join("\n  ")}`,
    "",
  ];
  return lines.join("\n");
};
