// Makes docs/images/start.svg and docs/images/inspect.svg: node packages/cli/scripts/capture.mjs, after npm run build.
// It needs `script` of util-linux for a terminal that nobody looks at.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { renderSvg } from "./svg.mjs";
import { readScreen } from "./terminal.mjs";

const root = resolve(import.meta.dirname, "../../..");
const images = join(root, "docs/images");
const shop = join(root, "examples/shop/dist/main.js");
const leasehold = join(root, "packages/cli/bin/leasehold.js");
const folder = mkdtempSync(join(tmpdir(), "leasehold-capture-"));

const startInTerminal = (args, { columns, rows }) => {
  const line = [process.execPath, ...args].join(" ");
  const child = spawn("script", ["-qec", `stty cols ${columns} rows ${rows}; exec ${line}`, "/dev/null"], {
    cwd: folder,
    env: { ...process.env, TERM: "xterm-256color", FORCE_COLOR: "1" },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const ended = once(child, "close");
  return { output: () => output, ended, quit: () => child.stdin.write("q") };
};

const save = (name, output, title) => {
  mkdirSync(images, { recursive: true });
  writeFileSync(join(images, name), renderSvg(readScreen(output), { title }));
  process.stdout.write(`docs/images/${name}\n`);
};

const captureShop = async () => {
  const running = startInTerminal([shop, "--forever", "--file", "shop.db"], { columns: 108, rows: 40 });
  await sleep(8_000);
  const output = running.output();
  // Up to the last picture that was finished.
  const complete = output.slice(0, output.lastIndexOf("\u001b[?2026l"));
  save("start.svg", complete, "npm start: the shop with its queues, rates and latencies");
  running.quit();
  await running.ended;
};

/** A job between two attempts. */
const makeRetryingJob = async () => {
  const stateAdapter = await createSqliteStateAdapter({ file: join(folder, "jobs.db") });
  const jobs = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  const { id } = await jobs.startJobSequence({
    typeName: "charge-card",
    input: { order: 4711, amount: "42.00 EUR" },
    queue: "payments",
    deduplication: { key: "order-4711" },
  });
  const worker = await jobs
    .createWorker()
    .implementJobType({
      typeName: "charge-card",
      retry: { type: "fixed", delayMs: 300_000 },
      process: async () => {
        throw new Error("The bank did not answer within 10 s", {
          cause: new Error("connect ETIMEDOUT 192.0.2.17:443"),
        });
      },
    })
    .start({ queues: { payments: 1 } });
  while ((await jobs.jobs.get({ id })).lastError === null) await sleep(10);
  await worker.stop();
  await stateAdapter.close();
  return id;
};

const captureInspect = async () => {
  const id = await makeRetryingJob();
  const command = `leasehold inspect ${id}`;
  const running = startInTerminal([leasehold, "inspect", id, "--store", "sqlite:jobs.db"], {
    columns: 88,
    rows: 40,
  });
  await running.ended;
  const prompt = `\u001b[2m$ ${command}\u001b[22m\r\n`;
  save("inspect.svg", `${prompt}${running.output()}`, "leasehold inspect: why a job is not running");
};

try {
  const [only] = process.argv.slice(2);
  if (only !== "inspect") await captureShop();
  if (only !== "start") await captureInspect();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
