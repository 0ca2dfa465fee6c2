import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../server/rights.ts";
import { installTimeoutMs, openBrowser, serve, watchPage } from "../testing/browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);
afterAll(() => browser.close());

const corpus = [
  `<img src=x onerror="window.wasHere=1">`,
  `"><svg/onload=window.wasHere=1>`,
  `'-alert(1)-'`,
  `javascript:window.wasHere=1`,
  `</script><script>window.wasHere=1</script>`,
  `<iframe srcdoc="<script>parent.wasHere=1</script>">`,
  `{{constructor.constructor("window.wasHere=1")()}}`,
  `<a href="javascript:window.wasHere=1">click</a>`,
  `\u202Egnp.exe\u2066 <b>bold</b>`,
  `<style>*{display:none}</style>`,
];

interface HostileTypes {
  [typeName: string]: { input: unknown; output: unknown };
}

/** Text from `corpus` in every field that a page shows. */
const openHostileShop = async () => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<HostileTypes>() });
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    authorize: () => ({ user: corpus[0]!, can: rights }),
    environment: { label: corpus[1]!, tone: "danger" },
    traceUrl: () => corpus[3],
  });
  const everything = corpus.join("\n");
  const payload = (text: string) => ({
    [text]: text,
    list: [text, { [text]: [text] }],
    long: text.repeat(500),
  });
  const worker = leasehold.createWorker();
  for (const text of corpus)
    worker.implementJobType({
      typeName: text,
      process: async () => {
        const cause = Object.assign(new Error(everything), { name: text, code: text });
        const error = Object.assign(new Error(everything, { cause }), { name: text, code: text });
        error.stack = `${text}\n    at ${text} (/app/${text}:1:1)\n    at x (node_modules/${text}:1:1)`;
        throw error;
      },
    });
  const ids: string[] = [];
  for (const text of corpus) {
    const { id } = await leasehold.start({
      typeName: text,
      queue: text,
      group: text,
      input: corpus.map(payload),
      maxAttempts: 1,
      deduplication: { key: text },
    });
    ids.push(id);
    await leasehold.putRecurringJob({ id: text, everyMs: 3_600_000, job: { typeName: text, input: text } });
    await leasehold.setFlow({ queue: text, concurrency: 3 });
  }
  const running = await worker.start({
    workerId: corpus[0]!,
    pollIntervalMs: 20,
    queues: Object.fromEntries(corpus.map((text) => [text, 1])),
  });
  await expect
    .poll(async () => (await leasehold.listJobs({ status: "failed" })).jobs, { timeout: 10_000 })
    .toHaveLength(corpus.length);
  await running.stop();
  return { dashboard, ids };
};

it(
  "shows whatever is stored as text",
  async () => {
    const { dashboard, ids } = await openHostileShop();
    const { origin, close } = await serve(dashboard);
    const { page, complaints } = await watchPage(browser);
    const paths = [
      "/",
      "/jobs",
      "/failed",
      "/recurring",
      "/limits",
      "/actions",
      ...ids.slice(0, 3).flatMap((id) => [`/jobs/${id}`, `/trees/${id}`]),
    ];
    for (const path of paths) {
      await page.goto(origin + path);
      await page.getByText("wasHere").first().waitFor();
      const found = await page.evaluate(`({
      wasHere: "wasHere" in globalThis,
      elements: [...document.querySelectorAll(
        "img, iframe, style, object, embed, [onerror], [onload], [srcdoc], [href^=javascript]",
      )].map(({ outerHTML }) => outerHTML),
      scripts: [...document.scripts].filter(({ src }) => src === "").length,
    })`);
      expect(found, path).toEqual({ wasHere: false, elements: [], scripts: 0 });
      expect(complaints, path).toEqual([]);
    }
    await page.context().close();
    await close();
  },
  installTimeoutMs,
);
