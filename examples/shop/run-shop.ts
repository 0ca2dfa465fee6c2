import { setTimeout as sleep } from "node:timers/promises";
import { createLiveView } from "@leasehold/cli";
import { startDashboard } from "@leasehold/dashboard";
import { approve, listApprovals, type WaitingApproval } from "./approval.ts";
import { openShop, type Shop } from "./open-shop.ts";
import { chooseWares, placeOrder } from "./place-order.ts";
import { createStory, type Story } from "./story.ts";
import { summarise } from "./summary.ts";
import { watchVisitor } from "./visitor.ts";
import { startWorker } from "./worker.ts";

export interface ShopOptions {
  readonly file: string;
  /** How long customers come in. */
  readonly openMs: number;
  /** How many come in at most. */
  readonly customers: number;
  /** Whether to show the jobs on a web page as well. */
  readonly dashboard?: boolean;
}

const betweenOrdersMs = 120;
const betweenLooksMs = 250;
const betweenLinesMs = 1_000;
const reportAfterMs = 4_000;
// A visitor at the terminal may approve by pressing a key; after that somebody from the office does.
const patienceMs = 5_000;
const longestCleanUpMs = 20_000;
const stopDeadlineMs = 5_000;

const euros = (cents: number): string => `€ ${(cents / 100).toFixed(2)}`;

const describeApproval = ({ orderId, item, cents }: WaitingApproval): string =>
  `order ${orderId} (${item}, ${euros(cents)})`;

/** Jobs that somebody still has to do now, which those for later are not. */
const countOpen = async ({ leasehold }: Shop): Promise<number> => {
  const { jobs } = await leasehold.jobs.list({ status: ["blocked", "pending", "running"], limit: 1_000 });
  return jobs.filter((job) => job.status !== "pending" || job.scheduledAt.getTime() < Date.now() + 60_000)
    .length;
};

const takeOrders = async (
  shop: Shop,
  { customers, until, onPlaced }: { customers: number; until: AbortSignal; onPlaced: () => void },
): Promise<void> => {
  for (let customer = 1; customer <= customers && !until.aborted; customer += 1) {
    await placeOrder(shop, chooseWares(customer));
    onPlaced();
    await sleep(betweenOrdersMs, undefined, { signal: until }).catch(() => {});
  }
};

const tellOfOpening = async (shop: Shop, story: Story): Promise<void> => {
  const left = await countOpen(shop);
  story.tell(
    left === 0 ? "The shop opens." : `The shop opens, and goes on with ${left} jobs left from last time.`,
  );
  await shop.leasehold.startJobSequence({
    typeName: "daily-report",
    schedule: { afterMs: reportAfterMs },
    deduplication: { key: "today" },
  });
};

/** Opens the shop, shows what happens, closes it and sums up. Resolves when all is done. */
export const runShop = async ({ file, openMs, customers, dashboard = false }: ShopOptions): Promise<void> => {
  const isTerminal = process.stdout.isTTY;
  const story = createStory(isTerminal ? undefined : (line) => console.log(line));
  const shop = await openShop(file, story);
  const began = performance.now();
  const visitor = watchVisitor();
  const soldOut = new AbortController();
  const hours = Number.isFinite(openMs) ? [AbortSignal.timeout(openMs)] : [];
  const closing = AbortSignal.any([soldOut.signal, ...hours]);
  const noMoreOrders = AbortSignal.any([closing, visitor.leaves]);
  let placed = 0;
  let approvals = 0;

  await tellOfOpening(shop, story);
  const { leasehold, stateAdapter } = shop;
  const page = dashboard ? await startDashboard({ leasehold, stateAdapter, port: 0 }) : undefined;
  if (page) story.tell(`Its jobs are shown at ${page.url}`);
  const worker = await startWorker(shop);
  const orders = takeOrders(shop, {
    customers,
    until: noMoreOrders,
    onPlaced: () => {
      placed += 1;
      if (placed === customers) soldOut.abort();
    },
  });

  const lookAtApprovals = async (): Promise<string[]> => {
    const waiting = await listApprovals(shop);
    for (const approval of waiting) {
      const byVisitor = visitor.wantsToApprove();
      if (!byVisitor && isTerminal && approval.waitedMs < patienceMs) continue;
      await approve(shop, approval);
      approvals += 1;
      story.tell(`✓ ${byVisitor ? "You" : "Grace from the office"} approved ${describeApproval(approval)}.`);
    }
    return waiting.map((approval) => `? ${describeApproval(approval)} waits for approval: press a`);
  };

  const view = await createLiveView({ stateAdapter: shop.stateAdapter, title: "The shop" });
  let closedAt: number | undefined;
  const isOver = async (): Promise<boolean> => {
    if (visitor.leaves.aborted) return true;
    if (!closing.aborted) return false;
    closedAt ??= performance.now();
    return performance.now() - closedAt > longestCleanUpMs || (await countOpen(shop)) === 0;
  };
  while (!(await isOver())) {
    const questions = await lookAtApprovals();
    const help = noMoreOrders.aborted
      ? "The door is closed; the last orders are worked off."
      : "Ctrl-C closes the shop.";
    const address = page ? [`Dashboard: ${page.url}`] : [];
    await view.update([...story.recent(6), ...questions, "", ...address, help]);
    await sleep(isTerminal ? betweenLooksMs : betweenLinesMs, undefined, { signal: visitor.leaves }).catch(
      () => {},
    );
  }

  await orders;
  await worker.stop({ deadlineMs: stopDeadlineMs });
  await view.update(story.recent(6));
  view.end();
  visitor.end();
  await page?.close();
  const seconds = (performance.now() - began) / 1_000;
  const endedEarly = visitor.leaves.aborted && Number.isFinite(openMs);
  console.log(`\n${await summarise(shop, story, { seconds, placed, approvals, file, endedEarly })}`);
  await shop.close();
};
