/**
 * What a hundred job types cost the compiler. Generates an application with that many, in both forms of definition,
 * checks it with tsc, and compares with an application of one type. The difference is what users wait for, in a build
 * and, more or less, in the editor after each keystroke.
 *
 *   node benchmarks/type-cost.mjs [--types 100] [--runs 5] [--keep]
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));

const { values } = parseArgs({
  options: {
    types: { type: "string", default: "100" },
    runs: { type: "string", default: "5" },
    keep: { type: "boolean", default: false },
  },
});

/**
 * Three tenths are one chain, in which each type may also end the sequence; three tenths are fan-outs of one entry to
 * two internal types; two tenths wait for one to three others; the rest stand alone.
 */
const planTypes = (count) => {
  if (count === 1) return [{ name: "type0", internal: false, continuesTo: [], blockers: [] }];
  const types = [];
  const add = (type) => types.push({ internal: false, continuesTo: [], blockers: [], ...type });
  const chain = Math.floor(count * 0.3);
  for (let i = 0; i < chain; i += 1) {
    add({ name: `chain${i}`, internal: i > 0, continuesTo: i + 1 < chain ? [`chain${i + 1}`] : [] });
  }
  for (let i = 0; i < Math.floor(count * 0.1); i += 1) {
    add({ name: `fan${i}`, continuesTo: [`fan${i}-left`, `fan${i}-right`] });
    add({ name: `fan${i}-left`, internal: true, continuesTo: [`fan${i}-right`] });
    add({ name: `fan${i}-right`, internal: true });
  }
  for (let i = 0; i < Math.floor(count * 0.2); i += 1) {
    add({ name: `waiting${i}`, blockers: ["chain0", `fan${i % 5}`, "chain0"].slice(0, 1 + (i % 3)) });
  }
  while (types.length < count) add({ name: `single${types.length}` });
  return types;
};

const union = (names, marker) => names.map((name) => `${marker}<"${name}">`).join(" | ");

const unionDefinitions = (types) => `
import type { DefineBlocker, DefineContinuationInput, DefineContinuationOutput } from "${root}packages/core/src/job-types/markers.ts";
import { defineUnionJobTypes } from "${root}packages/core/src/job-types/define.ts";

export const jobTypes = defineUnionJobTypes<{
${types
  .map(({ name, internal, continuesTo, blockers }, i) => {
    const input = `{ id: string; amount${i}: number; tags: string[]; nested: { at: string; note?: string } }`;
    const output = [`{ done${i}: boolean; total: number }`, union(continuesTo, "DefineContinuationOutput")];
    return `  "${name}": {
    input: ${internal ? `DefineContinuationInput<${input}>` : input};
    output: ${output.filter(Boolean).join(" | ")};
${blockers.length > 0 ? `    blockers: [${blockers.map((blocker) => `DefineBlocker<"${blocker}">`).join(", ")}];\n` : ""}  };`;
  })
  .join("\n")}
}>();`;

const runtimeDefinitions = (types) => `
import { z } from "zod";
import { defineJobTypes } from "${root}packages/core/src/job-types/define.ts";

export const jobTypes = defineJobTypes({
${types
  .map(
    ({ name, internal, continuesTo, blockers }, i) => `  "${name}": {
    input: z.object({ id: z.string(), amount${i}: z.number(), tags: z.array(z.string()), nested: z.object({ at: z.string(), note: z.string().optional() }) }),
    output: z.object({ done${i}: z.boolean(), total: z.number() }),
    ${internal ? "internal: true," : ""}
    ${continuesTo.length > 0 ? `continuesTo: ${JSON.stringify(continuesTo)},` : ""}
    ${blockers.length > 0 ? `blockers: ${JSON.stringify(blockers)},` : ""}
  },`,
  )
  .join("\n")}
});`;

const inputOf = (i) => `{ id: "1", amount${i}: ${i}, tags: ["a"], nested: { at: "now" } }`;

/** One start, one handler and one continuation for every type that can have them, and the queries. */
const usage = (types) => {
  const index = new Map(types.map(({ name }, i) => [name, i]));
  const external = types.filter(({ internal }) => !internal);
  const starts = external.map(
    ({ name, blockers }) => `await leasehold.startJobSequence({
  typeName: "${name}",
  input: ${inputOf(index.get(name))},${
    blockers.length === 0
      ? ""
      : `
  startBlockers: async ({ job, client }) => [
    ${blockers
      .map(
        (blocker) =>
          `await leasehold.startJobSequence({ client, typeName: "${blocker}", input: { ...${inputOf(index.get(blocker))}, id: job.id } }),`,
      )
      .join("\n    ")}
  ],`
  }
});`,
  );
  const handlers = types.map(
    ({ name, continuesTo, blockers }, i) => `worker.implementJobType({
  typeName: "${name}",
  process: async ({ job, signal, complete }) => {
    if (signal.aborted) return { done${i}: false, total: job.input.amount${i} };
    ${blockers.length > 0 ? `void ("total" in job.blockers[0].output);` : ""}
    ${
      continuesTo.length > 0
        ? `return complete(async ({ client, continueWith }) => {
      await client.query(job.sequenceTypeName);
      return continueWith({ typeName: "${continuesTo[0]}", input: ${inputOf(index.get(continuesTo[0]))} });
    });`
        : `return complete(() => ({ done${i}: true, total: 1 }));`
    }
  },
});`,
  );
  return `
import type { Leasehold } from "${root}packages/core/src/leasehold-api.ts";
import type { StateAdapter } from "${root}packages/core/src/store/contract/state-adapter.ts";
import type { JobTypes } from "${root}packages/core/src/job-types/define.ts";
import { jobTypes } from "./definitions.ts";

type Context = { client: { query(sql: string): Promise<unknown> } };
type Definitions = typeof jobTypes extends JobTypes<infer TDefs> ? TDefs : never;
declare const leasehold: Leasehold<Definitions, StateAdapter<Context, Context, string>>;
const worker = leasehold.createWorker();

${starts.join("\n")}

${handlers.join("\n")}

const done = await leasehold.waitForJobSequenceCompletion({ id: "1", typeName: "${external[0].name}" });
void done.output.total;
await leasehold.completeJobSequence({
  id: "1",
  typeName: "${external.at(-1).name}",
  complete: async ({ job, complete }) => complete(job, () => ({ done${index.get(external.at(-1).name)}: true, total: 1 })),
});
const { jobs } = await leasehold.jobs.list({ queue: "default" });
for (const job of jobs) {
  if (job.typeName === "${external[0].name}" && job.status === "completed" && job.continuedToId === null) void job.output.total;
}
const { jobs: failed } = await leasehold.jobs.list({ status: "failed" });
void failed.map(({ failure }) => failure.reason);
`;
};

const tsconfig = {
  extends: `${root}tsconfig.base.json`,
  compilerOptions: {
    composite: false,
    declaration: false,
    declarationMap: false,
    isolatedDeclarations: false,
    noEmit: true,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
  },
  files: ["usage.ts"],
};

const readFigure = (output, name) => {
  const line = output.split("\n").find((candidate) => candidate.trimStart().startsWith(`${name}:`));
  if (!line) throw new Error(`tsc did not report "${name}":\n${output}`);
  return Number.parseFloat(line.split(":")[1].replaceAll(/[^\d.]/g, ""));
};

const measure = async (folder, files, runs) => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const outputs = [];
  for (let i = 0; i < runs; i += 1) {
    // One thread, so that the figures do not depend on how the checkers happen to share the files.
    const args = [
      join(root, "node_modules/typescript/lib/tsc.js"),
      "-p",
      folder,
      "--extendedDiagnostics",
      "--singleThreaded",
    ];
    const { stdout } = await run(process.execPath, args).catch((error) => {
      throw new Error(`The generated application does not compile:\n${error.stdout}`);
    });
    outputs.push(stdout);
  }
  return {
    // The fastest run: what the others take longer is the machine's doing.
    checkSeconds: Math.min(...outputs.map((output) => readFigure(output, "Check time"))),
    totalSeconds: Math.min(...outputs.map((output) => readFigure(output, "Total time"))),
    instantiations: readFigure(outputs[0], "Instantiations"),
    types: readFigure(outputs[0], "Types"),
  };
};

// Inside the repository, so that the generated files find its node_modules; the name is git-ignored.
await mkdir(join(here, "bench-results"), { recursive: true });
const temporary = await mkdtemp(join(here, "bench-results", "type-cost-"));
try {
  const count = Number(values.types);
  const rows = [];
  for (const [form, define] of Object.entries({
    "types only": unionDefinitions,
    "zod schemas": runtimeDefinitions,
  })) {
    const measured = [];
    for (const size of [1, count]) {
      const types = planTypes(size);
      const files = { "definitions.ts": define(types), "usage.ts": usage(types) };
      measured.push(
        await measure(join(temporary, `${form.replace(" ", "-")}-${size}`), files, Number(values.runs)),
      );
    }
    const [baseline, full] = measured;
    for (const [size, figures] of [
      [1, baseline],
      [count, full],
    ]) {
      rows.push({
        form,
        "job types": size,
        "check (s)": figures.checkSeconds,
        "total (s)": figures.totalSeconds,
        instantiations: figures.instantiations,
        types: figures.types,
      });
    }
    rows.push({
      form,
      "job types": "difference",
      "check (s)": Number((full.checkSeconds - baseline.checkSeconds).toFixed(3)),
      "total (s)": Number((full.totalSeconds - baseline.totalSeconds).toFixed(3)),
      instantiations: full.instantiations - baseline.instantiations,
      types: full.types - baseline.types,
    });
  }
  console.table(rows);
} finally {
  if (values.keep) console.log(`Kept ${temporary}`);
  else await rm(temporary, { recursive: true, force: true });
}
