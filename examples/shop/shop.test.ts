import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold } from "leasehold";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobTypes } from "./job-types.ts";

const program = join(import.meta.dirname, "dist/main.js");

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-shop-"));
  file = join(folder, "shop.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (args: readonly string[], terminal: boolean) => {
  const all = [program, "--file", file, ...args];
  const child = terminal
    ? spawn("script", [
        "-qec",
        `stty cols 120 rows 40; exec ${[process.execPath, ...all].map((word) => `'${word}'`).join(" ")}`,
        "/dev/null",
      ])
    : spawn(process.execPath, all);
  let output = "";
  const heard = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      for (const look of heard) look();
    });
  }
  return {
    child,
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, output })),
    waitFor: (text: string) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (output.includes(text)) resolve();
        };
        heard.add(look);
        look();
      }),
  };
};

const countOpen = async (): Promise<Record<string, number>> => {
  const stateAdapter = await createSqliteStateAdapter({ file });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const rows = await leasehold.jobs.count({ status: ["blocked", "pending", "running"] });
  await stateAdapter.close();
  // A tick may come while the shop closes.
  const others = rows.filter(({ typeName }) => typeName !== "count-stock");
  return Object.fromEntries(others.map(({ typeName, count }) => [typeName, count]));
};

describe("the shop", () => {
  it("ends by itself with a summary, and leaves only what is for later", async () => {
    const { code, output } = await open(["--orders", "13"], false).ended;
    expect(code).toBe(0);
    expect(output).toMatch(/\d+ orders placed, \d+ delivered/);
    expect(output).toContain("attempt 1: The payment provider answered 503.");
    expect(output).toContain("dead letter: send-email: 550 There is no mailbox");
    expect(output).toContain("Grace from the office approved order 7");
    expect(output).toContain("The report that was scheduled has run.");
    expect(output).toContain("The recurring job count-stock: started.");
    expect(output).toMatch(/npx leasehold inspect [0-9a-f-]{36} --store sqlite:/);
    expect(output).not.toContain("\u001b[");
    expect(await countOpen()).toEqual({ "ask-for-review": 1 });
  });

  it("stops at a signal, and the next start goes on with what was left", async () => {
    const first = open(["--forever"], false);
    await first.waitFor("dead letter");
    first.child.kill("SIGINT");
    const { code, output } = await first.ended;
    expect(code).toBe(0);
    expect(output).toContain("left in the book");
    expect(await countOpen()).not.toEqual({ "ask-for-review": 1 });
    const second = await open(["--orders", "1"], false).ended;
    expect(second.code).toBe(0);
    expect(second.output).toContain("jobs left from last time");
    expect(await countOpen()).toEqual({ "ask-for-review": 1 });
  });

  it("shows a live table in a terminal, where a key gives the approval and Ctrl-C ends it", async () => {
    const shop = open(["--forever"], true);
    await shop.waitFor("waits for approval");
    shop.child.stdin.write("a");
    await shop.waitFor("You approved order 7");
    shop.child.stdin.write("\u0003");
    const { code, output } = await shop.ended;
    expect(code).toBe(0);
    expect(output).toContain("QUEUE");
    expect(output).toContain("1 approval given by a person");
  });
});
