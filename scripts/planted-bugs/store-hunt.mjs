// Plants each bug of a store, one at a time, and answers which test noticed it.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noBug, root, stores } from "./store-bugs.mjs";
import { createVariant } from "./variant.mjs";

// A bug that makes the tests themselves hang is caught by this. On a busy machine they take longer, with and without a bug.
const shortestPatienceMs = 300_000;
const longestPatienceMs = 1_200_000;
const patienceAfter = (usualMs) => Math.min(longestPatienceMs, Math.max(shortestPatienceMs, 3 * usualMs));

const startServer = async (store) => {
  if (store !== "postgres") return undefined;
  const { startPostgres } = await import("@leasehold/test-servers");
  return startPostgres({
    version: 18,
    settings: { max_connections: "300", shared_buffers: "'256MB'", fsync: "off" },
  });
};

/** Runs the tests of a configuration, which reads `planted`: which bug, and perhaps which tests. */
const runTests = ({ config = "store", planted, only = "", url, report, patienceMs }) =>
  new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [
        join(root, "node_modules/vitest/vitest.mjs"),
        "run",
        "--config",
        join(root, `scripts/planted-bugs/${config}-vitest.config.mjs`),
        "--reporter=json",
        `--outputFile=${report}`,
        ...(only === "" ? [] : ["--testNamePattern", only]),
      ],
      {
        cwd: root,
        stdio: ["ignore", "ignore", "pipe"],
        env: {
          ...process.env,
          LEASEHOLD_PLANTED_BUG: JSON.stringify(planted),
          LEASEHOLD_PLANTED_BUG_URL: url ?? "",
        },
      },
    );
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, patienceMs);
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (complaint = (complaint + text).slice(-2_000)));
    child.on("error", (error) => (complaint += String(error)));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, isLate, complaint });
    });
  });

const firstFailure = (report) => {
  for (const file of report.testResults) {
    const failed = file.assertionResults.find(({ status }) => status === "failed");
    if (failed) return failed.fullName;
    if (file.status === "failed" && file.assertionResults.length === 0)
      return `${file.name}: ${file.message}`;
  }
  return undefined;
};

/** What noticed, null for nothing; or why that is not known: the tests ended without a report. */
const judge = async ({ code, signal, isLate, complaint }, file) => {
  if (isLate) return { by: "it hangs" };
  if (code === 0) return { by: null };
  try {
    return { by: firstFailure(JSON.parse(await readFile(file, "utf8"))) ?? "an error outside the tests" };
  } catch {
    return { error: `the tests ended with ${signal ?? code} and without a report ${complaint.trim()}` };
  }
};

/** Runs tests in a folder for their reports; see `judge`. */
const judgeTests = async (folder, name, options) => {
  const report = join(folder, `${name}.json`);
  return judge(await runTests({ ...options, report }), report);
};

/** Calls `onResult` with what is known about each bug; see `judge`. */
export const huntInStore = async (store, indexes, { atOnce, only = stores[store].only }, onResult) => {
  const server = await startServer(store);
  const folder = await mkdtemp(join(tmpdir(), "leasehold-planted-bugs-"));
  const findWhatNotices = (bug, patienceMs) =>
    judgeTests(folder, bug, { planted: { store, bug }, only, url: server?.url, patienceMs });
  try {
    // Tests that fail anyway would seem to catch everything.
    const began = performance.now();
    const { by, error } = await findWhatNotices(noBug, longestPatienceMs);
    if (by !== null) throw new Error(`The tests fail without any bug: ${by ?? error}`);
    const patienceMs = patienceAfter(performance.now() - began);
    const waiting = [...indexes];
    const takeTurns = async () => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift())
        onResult(index, await findWhatNotices(index, patienceMs));
    };
    await Promise.all(Array.from({ length: atOnce }, takeTurns));
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true });
  }
};

/**
 * Calls `onResult` for each bug with the layers that notice it on their own. `store` undefined: bugs in core, planted in a copy
 * of the built package.
 */
export const huntByLayer = async ({ store, bugs, indexes, layers, atOnce }, onResult) => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-planted-bugs-"));
  const run = (name, layer, bug, variant, patienceMs) =>
    judgeTests(folder, name, {
      config: store === undefined ? "core" : "store",
      planted: { store, bug, folder: variant?.folder ?? null, ...layer },
      patienceMs,
    });
  try {
    const patience = {};
    for (const [name, layer] of Object.entries(layers)) {
      const began = performance.now();
      const { by, error } = await run(name, layer, noBug, undefined, longestPatienceMs);
      if (by !== null) throw new Error(`The layer ${name} fails without any bug: ${by ?? error}`);
      patience[name] = patienceAfter(performance.now() - began);
    }
    const waiting = [...indexes];
    const takeTurns = async () => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
        const variant = store === undefined ? createVariant(bugs[index]) : undefined;
        const found = {};
        for (const [name, layer] of Object.entries(layers))
          found[name] = await run(`${index}-${name}`, layer, index, variant, patience[name]);
        variant?.remove();
        onResult(index, found);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, takeTurns));
  } finally {
    await rm(folder, { recursive: true });
  }
};
