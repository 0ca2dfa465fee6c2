// Plants each bug of a store, one at a time, and answers which test noticed it.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { noBug, root, stores } from "./store-bugs.mjs";

// A bug that makes the tests themselves hang is caught by this.
const patienceMs = 300_000;

const startServer = async (store) => {
  if (store !== "postgres") return undefined;
  const { startPostgres } = await import("@leasehold/test-servers");
  return startPostgres({
    version: 18,
    settings: { max_connections: "300", shared_buffers: "'256MB'", fsync: "off" },
  });
};

const runTests = (store, bug, url, report) =>
  new Promise((resolve) => {
    const only = stores[store].only;
    const child = spawn(
      process.execPath,
      [
        join(root, "node_modules/vitest/vitest.mjs"),
        "run",
        "--config",
        join(root, "scripts/planted-bugs/store-vitest.config.mjs"),
        "--reporter=json",
        `--outputFile=${report}`,
        ...(only === "" ? [] : ["--testNamePattern", only]),
      ],
      {
        cwd: root,
        stdio: "ignore",
        env: {
          ...process.env,
          LEASEHOLD_PLANTED_BUG: JSON.stringify({ store, bug }),
          LEASEHOLD_PLANTED_BUG_URL: url ?? "",
        },
      },
    );
    const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal });
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

/** Calls `onResult` with what caught each bug; null for nothing. */
export const huntInStore = async (store, indexes, onResult) => {
  const server = await startServer(store);
  const folder = await mkdtemp(join(tmpdir(), "leasehold-planted-bugs-"));
  const findWhatNotices = async (index) => {
    const file = join(folder, `${index}.json`);
    const { code, signal } = await runTests(store, index, server?.url, file);
    if (signal !== null) return "it hangs";
    if (code === 0) return null;
    return firstFailure(JSON.parse(await readFile(file, "utf8"))) ?? "an error outside the tests";
  };
  try {
    // Tests that fail anyway would seem to catch everything.
    const failure = await findWhatNotices(noBug);
    if (failure !== null) throw new Error(`The tests fail without any bug: ${failure}`);
    const waiting = [...indexes];
    const takeTurns = async () => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift())
        onResult(index, await findWhatNotices(index));
    };
    await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, takeTurns));
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true });
  }
};
