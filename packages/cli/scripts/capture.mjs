// Makes docs/images/start.svg and docs/images/top.svg: node packages/cli/scripts/capture.mjs, after npm run build.
// It needs `script` of util-linux for a terminal that nobody looks at.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { renderSvg } from "./svg.mjs";
import { readScreen } from "./terminal.mjs";

const root = resolve(import.meta.dirname, "../../..");
const images = join(root, "docs/images");
const shop = join(root, "examples/shop/dist/main.js");
const leasehold = join(root, "packages/cli/bin/leasehold.js");
const folder = mkdtempSync(join(tmpdir(), "leasehold-capture-"));

const startInTerminal = (args) => {
  const line = [process.execPath, ...args].join(" ");
  const child = spawn("script", ["-qec", `stty cols 108 rows 40; exec ${line}`, "/dev/null"], {
    cwd: folder,
    env: { ...process.env, TERM: "xterm-256color" },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  return {
    output: () => output,
    end: async () => {
      const ended = once(child, "close");
      child.stdin.write("q");
      await ended;
    },
  };
};

const save = (name, output, title) => {
  // Up to the last picture that was finished.
  const complete = output.slice(0, output.lastIndexOf("\u001b[?2026l"));
  mkdirSync(images, { recursive: true });
  writeFileSync(join(images, name), renderSvg(readScreen(complete), { title }));
  process.stdout.write(`docs/images/${name}\n`);
};

try {
  const running = startInTerminal([shop, "--forever", "--file", "shop.db"]);
  await sleep(8_000);
  save("start.svg", running.output(), "npm start: the shop with its queues, rates and latencies");
  const top = startInTerminal([leasehold, "top", "--store", "sqlite:shop.db", "--interval", "500ms"]);
  await sleep(9_000);
  save("top.svg", top.output(), "leasehold top: queues, rates and latencies, live");
  await top.end();
  await running.end();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
