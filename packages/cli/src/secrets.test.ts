import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFolder, type Folder, type Result } from "./testing/run-cli.ts";
import { runMain } from "./testing/run-main.ts";

const canary = /S3cret|Sup3r|\bpw\b/;

// What people write: unescaped characters, a colon or slash too few, parts left out.
const malformed = [
  "postgres://app:Sup3r/S3cret@h/x",
  "postgres://app:Sup3r?S3cret@h/x",
  "postgres://app:Sup3r#S3cret@h/x",
  "postgres://app:12/S3cret@h/x",
  "postgres://app:12?S3cret@h/x",
  "postgres://app:12#S3cret@h/x",
  "postgres://app:Sup3r S3cret@h:port/x",
  "postgres://app:Sup3r%S3cret@[h/x",
  'postgres://app:Sup3r"S3cret@h:x/x',
  "postgres://app:S3cret",
  "postgres//u:pw@h",
  "postgres:/u:pw@h/x",
  "postgres:u:S3cret@h",
  "postgress://u:S3cret@h/x",
  "mysql://u:S3cret@h/x",
  "u:S3cret@h/x",
  "host=h user=u password=S3cret",
  "jdbc:postgresql://h/x?user=u&password=S3cret",
  " postgres://u:S3cret@h/x",
];

let folder: Folder;

beforeEach(() => {
  folder = createFolder();
});

afterEach(() => folder.remove());

const expectNoSecret = ({ stdout, stderr }: Result, what: string): void => {
  expect(stdout + stderr, what).not.toMatch(canary);
};

describe("an address that cannot be read", () => {
  const refuse = async (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    for (const flags of [[], ["--json"]]) {
      const result = await runMain([...args, ...flags], { LEASEHOLD_DEBUG: "1", ...env });
      const what = [...args, ...flags].join(" ");
      expectNoSecret(result, what);
      expect(result.stderr, what).not.toBe("");
      expect([2, 4], `${what}: ${result.stderr}`).toContain(result.code);
    }
  };

  it.each(malformed)("is not repeated, wherever it was given: %s", async (address) => {
    await refuse(["list", "--store", address]);
    await refuse(["doctor", `--store=${address}`]);
    await refuse(["list"], { LEASEHOLD_STORE: address });
    await refuse(["stats"], { DATABASE_URL: address });
    const config = folder.write("store.mjs", `export default { store: ${JSON.stringify(address)} };`);
    await refuse(["list", "--config", config]);
  });

  it.each(malformed)("is not repeated in the wrong place either: %s", async (address) => {
    await refuse([address]);
    await refuse(["list", address]);
    await refuse(["list", "--timeout", address]);
    await refuse(["list", `--sotre=${address}`]);
    await refuse(["migrate", "--config", address]);
    await refuse(["migrate", "--store", `sqlite:${address}`, "--dry-run"]);
  });

  it("is not repeated from a config module that cannot be loaded", async () => {
    for (const name of ["broken.mjs", "broken.ts"]) {
      const path = folder.write(name, 'export default { store: "u:S3cret@h/x" oops };');
      const debugging = createFolder({ LEASEHOLD_DEBUG: "1" });
      const result = await debugging.run("list", "--config", path);
      debugging.remove();
      expectNoSecret(result, name);
      expect(result.code).toBe(2);
    }
  });
});

describe("an error of the driver", () => {
  const throwing = `
    import { createInProcessStateAdapter } from "leasehold";
    const refuse = async () => {
      throw Object.assign(new Error("null value in column"), {
        name: "DatabaseError", code: "23502", detail: "Failing row contains (S3cret).", where: "S3cret", parameters: ["S3cret"],
      });
    };`;

  it("is reported without the row that it was about", async () => {
    const debugging = createFolder({ LEASEHOLD_DEBUG: "1" });
    debugging.write(
      "leasehold.config.mjs",
      `${throwing}
       export default { store: () => ({ stateAdapter: {
         ...createInProcessStateAdapter(), createSequences: refuse, createJobs: refuse, listJobs: refuse, getJobs: refuse, countJobs: refuse,
       } }) };`,
    );
    const results = await Promise.all([
      debugging.run("start", "mail", "--input", '{"card":"S3cret"}'),
      debugging.run("list", "--json"),
      debugging.run("inspect", "x"),
      debugging.run("doctor"),
      debugging.run("doctor", "--json"),
    ]);
    debugging.remove();
    for (const [index, result] of results.entries()) {
      expectNoSecret(result, `${index}`);
      expect(result.stdout + result.stderr, `${index}`).toContain("null value in column");
    }
  }, 60_000);

  it.each([[], ["--json"]])("is not in the log of a worker (%s)", async (...flags) => {
    folder.write(
      "leasehold.config.mjs",
      `${throwing}
       export default { store: () => ({ stateAdapter: { ...createInProcessStateAdapter(), claimJobs: refuse } }) };`,
    );
    folder.write(
      "worker.mjs",
      `import { createLeasehold, defineUnionJobTypes } from "leasehold";
       export default async (context) => {
         const leasehold = await createLeasehold({ ...context, jobTypes: defineUnionJobTypes() });
         return leasehold.createWorker().implementJobType({ typeName: "mail", process: async () => null });
       };`,
    );
    const worker = folder.start([
      "worker",
      "run",
      "worker.mjs",
      "--poll-interval",
      "20ms",
      "--log-level",
      "debug",
      ...flags,
    ]);
    await worker.waitFor("null value in column");
    worker.kill("SIGTERM");
    expectNoSecret(await worker.ended, "worker");
  });
});
