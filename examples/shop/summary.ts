import { relative } from "node:path";
import type { Shop } from "./open-shop.ts";
import type { Story } from "./story.ts";

export interface Day {
  readonly seconds: number;
  readonly placed: number;
  readonly approvals: number;
  readonly file: string;
  readonly endedEarly: boolean;
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;

const describeDurations = (durations: readonly number[]): string => {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number): string => {
    const ms = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
    return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
  };
  return sorted.length === 0 ? "" : `, half of them within ${at(0.5)} and 95 % within ${at(0.95)}`;
};

/** What the day was like, and where to look next. */
export const summarise = async ({ leasehold }: Shop, story: Story, day: Day): Promise<string> => {
  const counts = await leasehold.jobs.count();
  const open = counts.filter(({ status }) => status !== "completed" && status !== "failed");
  const left = open.reduce((sum, row) => sum + row.count, 0);
  const { orderDurations, deadLetters, retries } = story;
  const store = `--store sqlite:${relative(process.cwd(), day.file)}`;
  const [letter] = deadLetters;
  return [
    `The shop ${day.endedEarly ? "was closed early, after" : "was open for"} ${day.seconds.toFixed(1)} s.`,
    `  ${count(day.placed, "order")} placed, ${orderDurations.length} delivered from payment to e-mail${describeDurations(orderDurations)}`,
    `  ${count(retries, "attempt")} failed and ${retries === 1 ? "was" : "were"} tried again`,
    `  ${count(day.approvals, "approval")} given by a person`,
    ...deadLetters.map(({ typeName, text }) => `  dead letter: ${typeName}: ${text}`),
    left === 0
      ? "  nothing left to do"
      : `  left in the book: ${open.map((row) => `${row.count} ${row.typeName} (${row.status})`).join(", ")}`,
    "",
    "Look into the database it leaves:",
    `  npx leasehold list ${store}`,
    `  npx leasehold stats ${store}`,
    `  npx leasehold recurring list ${store}`,
    ...(letter === undefined
      ? []
      : [
          `  npx leasehold inspect ${letter.id} ${store}`,
          `  npx leasehold failed redrive --all --dry-run ${store}`,
        ]),
    "",
    "`npm start` again goes on from here. `npm start -- --forever` keeps the shop open.",
  ].join("\n");
};
