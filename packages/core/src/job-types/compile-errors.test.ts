import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/*
 * What a developer reads when a call is wrong. A message has to name the job type and the property; the definitions of a
 * whole application in between would hide both.
 */

const definitions = `
import { createInProcessStateAdapter, createLeasehold, defineJobTypes, typeOnly } from ${JSON.stringify(fileURLToPath(new URL("../index.ts", import.meta.url)))};

const jobTypes = defineJobTypes({
  "check-fraud": { input: typeOnly<{ orderId: string }>(), output: typeOnly<{ ok: boolean }>() },
  "reserve-stock": { input: typeOnly<{ orderId: string; sku: string }>(), output: typeOnly<{ shelf: string }>() },
  "place-order": {
    input: typeOnly<{ orderId: string }>(),
    continuesTo: ["charge-card"],
    blockers: ["check-fraud", "reserve-stock"],
  },
  "charge-card": { input: typeOnly<{ cents: number }>(), output: typeOnly<{ receipt: string }>(), internal: true },
});
const leasehold = await createLeasehold({ stateAdapter: createInProcessStateAdapter(), jobTypes });
const input = { orderId: "1" };
const fraud = await leasehold.startJobSequence({ typeName: "check-fraud", input });
const stock = await leasehold.startJobSequence({ typeName: "reserve-stock", input: { orderId: "1", sku: "a" } });
`;

/** Each is one line of a program, and all that may be wrong with the program is in these lines. */
const mistakes = {
  blockersInWrongOrder: `await leasehold.startJobSequence({ typeName: "place-order", input, startBlockers: async () => [stock, fraud] });`,
  oneOfTwoBlockers: `await leasehold.startJobSequence({ typeName: "place-order", input, startBlockers: async () => [fraud] });`,
  blockersMissing: `await leasehold.startJobSequence({ typeName: "place-order", input });`,
  blockersOfTypeWithout: `await leasehold.startJobSequence({ typeName: "check-fraud", input, startBlockers: async () => [] });`,
  awaitForgotten: `await leasehold.waitForJobSequenceCompletion(leasehold.startJobSequence({ typeName: "check-fraud", input }));`,
  misspeltStart: `await leasehold.startJobSequence({ typeName: "check-frau", input });`,
  misspeltHandler: `leasehold.createWorker().implementJobType({ typeName: "chek-fraud", process: async () => ({ ok: true }) });`,
  internalStarted: `await leasehold.startJobSequence({ typeName: "charge-card", input: { cents: 1 } });`,
  blockersOfRecurring: `await leasehold.recurring.put({ id: "a", cron: "@daily", job: { typeName: "place-order", input } });`,
  wrongInput: `await leasehold.startJobSequence({ typeName: "check-fraud", input: { orderId: 1 } });`,
  wrongOutput: `leasehold.createWorker().implementJobType({ typeName: "check-fraud", process: async () => ({ ok: "yes" }) });`,
  wrongContinuation: `leasehold.createWorker().implementJobType({ typeName: "place-order", process: async ({ complete }) => complete(async ({ continueWith }) => continueWith({ typeName: "check-fraud", input })) });`,
} as const;

type Mistake = keyof typeof mistakes;

const lines = Object.entries(mistakes) as [Mistake, string][];

const firstLine = definitions.split("\n").length;

const compile = (configFile: string): Promise<string> => {
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(typescript, "bin", "tsc"), "--noEmit", "--pretty", "false", "-p", configFile],
      // It fails, which is what it is for.
      (_failed, stdout) => resolve(stdout),
    );
  });
};

describe("compile errors", () => {
  let folder: string;
  const messages = new Map<Mistake, string[]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasehold-compile-errors-"));
    await writeFile(
      join(folder, "mistakes.mts"),
      `${definitions}${lines.map(([, line]) => line).join("\n")}\n`,
    );
    const root = fileURLToPath(new URL("../../../..", import.meta.url));
    const config = {
      extends: join(root, "tsconfig.test.json"),
      compilerOptions: {
        typeRoots: [join(root, "node_modules/@types")],
        rewriteRelativeImportExtensions: false,
        allowImportingTsExtensions: true,
      },
      include: ["mistakes.mts"],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const output = await compile(join(folder, "tsconfig.json"));
    for (const part of output.split(/^(?=\S*mistakes\.mts\()/mu)) {
      const line = Number(/^\S*mistakes\.mts\((\d+),/u.exec(part)?.[1]);
      const mistake = lines[line - firstLine]?.[0];
      if (mistake === undefined) throw new Error(`Not a mistake made on purpose: ${part}`);
      const message = part.replace(/^\S+: error TS\d+: /u, "").trim();
      messages.set(mistake, [...(messages.get(mistake) ?? []), message]);
    }
  }, 60_000);

  afterAll(() => rm(folder, { recursive: true }));

  const expectMessage = (mistake: Mistake, ...texts: readonly string[]): void => {
    const said = (messages.get(mistake) ?? []).join("\n");
    for (const text of texts) expect(said).toContain(text);
  };

  it.each(lines)("never print the definitions of the application (%s)", (mistake) => {
    const said = messages.get(mistake)!.join("\n");
    expect(said).not.toContain(`"reserve-stock": {`);
    expect(said.length).toBeLessThan(1_200);
  });

  it("name both types where blockers are in the wrong order, at the wrong blocker", () => {
    expectMessage("blockersInWrongOrder", `Type '"reserve-stock"' is not assignable to type '"check-fraud"'`);
    expect(messages.get("blockersInWrongOrder")).toHaveLength(2);
  });

  it("say how many blockers there are and how many it takes", () => {
    expectMessage("oneOfTwoBlockers", "Source has 1 element(s) but target requires 2");
  });

  it("name the missing startBlockers and the types it has to return", () => {
    expectMessage(
      "blockersMissing",
      "Property 'startBlockers' is missing",
      `BlockerReference<string, "check-fraud">, BlockerReference<string, "reserve-stock">`,
    );
  });

  it("say of a type without blockers that it has none", () => {
    expectMessage("blockersOfTypeWithout", `HasNoBlockers<"check-fraud">`);
  });

  it("show the promise where an await was forgotten, and what was wanted", () => {
    expectMessage("awaitForgotten", "Type 'Promise<", `"check-fraud"`, "WaitOptions<", "id, typeName");
  });

  it.each(["misspeltStart", "misspeltHandler"] as const)("suggest the right name, once (%s)", (mistake) => {
    expectMessage(mistake, `Did you mean '"check-fraud"'?`);
    expect(messages.get(mistake)).toHaveLength(1);
  });

  it("list the types that can be started in place of an internal one", () => {
    // And an editor completes only these.
    expectMessage("internalStarted", `'"check-fraud" | "place-order" | "reserve-stock"'`);
  });

  it("say of a type with blockers that it cannot recur", () => {
    expectMessage("blockersOfRecurring", `JobTypeWithBlockersCannotRecur<"place-order">`);
  });

  it("point at the wrong part of an input", () => {
    expect(messages.get("wrongInput")).toEqual(["Type 'number' is not assignable to type 'string'."]);
  });

  it("name the job type and the wrong property of an output", () => {
    expectMessage("wrongOutput", `JobCompletion<"check-fraud">`, "Types of property 'ok' are incompatible");
  });

  it("name the types of a wrong continuation", () => {
    expectMessage("wrongContinuation", `Type '"check-fraud"' is not assignable to type '"charge-card"'`);
  });
});
