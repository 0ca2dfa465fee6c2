// Who may import what: the linter holds it, and this holds the linter to it, with files that break the rules.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");

const foldersIn = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(node_modules|dist)$/.test(entry.name))
    .map(({ name }) => name);

const coreFolders = foldersIn("packages/core/src");
const facade = ["index", "leasehold", "leasehold-api", "create-engine", "adapter"];

const belowJobs = ["base", "store", "job-types", "observability", "notify", "engine"];
const belowWorker = [...belowJobs, "jobs", "limits", "recurring", "history"];
const product = [...belowWorker, "doctor", "worker", "memory"];

/** For each folder of the core, the others it may import from. */
const mayImport: Record<string, readonly string[]> = {
  base: [],
  store: ["base"],
  "job-types": ["base", "store"],
  observability: ["base", "store", "job-types"],
  notify: ["base", "store", "job-types", "observability"],
  engine: ["base", "store", "job-types", "observability", "notify"],
  jobs: belowJobs,
  limits: belowJobs,
  recurring: [...belowJobs, "jobs"],
  history: [...belowJobs, "jobs"],
  doctor: belowWorker,
  worker: belowWorker,
  memory: ["base", "store"],
  testing: product,
  conformance: [...product, "testing"],
  simulation: [...product, "testing"],
};
/** Test tools use Leasehold as applications do. */
const mayImportFacade = new Set(["testing", "conformance", "simulation"]);

interface Case {
  readonly file: string;
  readonly imports: string;
  readonly allowed: boolean;
}

const coreCases = Object.entries(mayImport).flatMap(([folder, allowed]): Case[] => {
  const file = `packages/core/src/${folder}/file.ts`;
  const nested = `packages/core/src/${folder}/inner/file.ts`;
  const others = coreFolders.filter((other) => other !== folder);
  return [
    ...others.flatMap((other) => [
      { file, imports: `../${other}/other.ts`, allowed: allowed.includes(other) },
      { file: nested, imports: `../../${other}/other.ts`, allowed: allowed.includes(other) },
    ]),
    ...facade.map((name) => ({
      file,
      imports: `../${name}.ts`,
      allowed: mayImportFacade.has(folder) && name !== "index" && name !== "adapter",
    })),
    { file, imports: "leasehold", allowed: false },
    { file, imports: "@leasehold/sqlite", allowed: false },
    { file, imports: "../../../sqlite/src/tables.ts", allowed: false },
    { file: `packages/core/src/${folder}/file.test.ts`, imports: "../worker/other.ts", allowed: true },
    { file: `packages/core/src/${folder}/file.test.ts`, imports: "../../../cli/src/main.ts", allowed: false },
  ];
});

/** `store/contract` comes before `store`, and `store` before `store/rules`. */
const storeCases: Case[] = [
  { file: "packages/core/src/store/contract/file.ts", imports: "../../base/options.ts", allowed: true },
  { file: "packages/core/src/store/contract/file.ts", imports: "./job.ts", allowed: true },
  { file: "packages/core/src/store/contract/file.ts", imports: "../errors.ts", allowed: false },
  { file: "packages/core/src/store/contract/file.ts", imports: "../rules/checks.ts", allowed: false },
  { file: "packages/core/src/store/file.ts", imports: "./contract/job.ts", allowed: true },
  { file: "packages/core/src/store/file.ts", imports: "./rules/checks.ts", allowed: false },
  { file: "packages/core/src/store/rules/file.ts", imports: "../errors.ts", allowed: true },
];

const entryCases = ["index", "leasehold", "leasehold-api", "create-engine"].flatMap((name): Case[] =>
  coreFolders.map((folder) => ({
    file: `packages/core/src/${name}.ts`,
    imports: `./${folder}/other.ts`,
    allowed: !["testing", "conformance", "simulation"].includes(folder),
  })),
);

const adapterEntryCases = [...coreFolders, "leasehold", "create-engine"].map((name): Case => ({
  file: "packages/core/src/adapter.ts",
  imports: coreFolders.includes(name) ? `./${name}/other.ts` : `./${name}.ts`,
  allowed: ["base", "store", "observability", "notify"].includes(name),
}));

const adapterCases = ["postgres", "sqlite", "mongodb", "redis", "nats"].flatMap((name): Case[] => {
  const source = `packages/${name}/src/jobs/file.ts`;
  const test = `packages/${name}/src/jobs/file.test.ts`;
  const support = `packages/${name}/src/testing/file.ts`;
  return [
    { file: source, imports: "leasehold/adapter", allowed: true },
    { file: source, imports: "leasehold", allowed: false },
    { file: source, imports: "leasehold/doctor", allowed: false },
    { file: source, imports: "leasehold/testing", allowed: false },
    { file: source, imports: "@leasehold/cli", allowed: false },
    { file: source, imports: "../../../core/src/base/errors.ts", allowed: false },
    { file: test, imports: "leasehold", allowed: true },
    { file: test, imports: "leasehold/testing", allowed: true },
    { file: test, imports: "../../../core/src/base/errors.ts", allowed: false },
    { file: support, imports: "leasehold/testing", allowed: true },
    { file: support, imports: "../../../core/src/base/errors.ts", allowed: false },
  ];
});

/** For each folder of an SQL store, the others it may import from. SQLite has no `notify`. */
const mayImportInStore: Record<string, readonly string[]> = {
  database: [],
  rows: ["database"],
  history: ["database"],
  limits: ["database", "rows", "history"],
  jobs: ["database", "rows", "history", "limits"],
  notify: ["database"],
  providers: ["database", "notify"],
  migrations: ["database"],
};

const foldersOfStore = {
  postgres: Object.keys(mayImportInStore),
  sqlite: Object.keys(mayImportInStore).filter((name) => name !== "notify"),
};

const storeFolderCases = Object.entries(foldersOfStore).flatMap(([store, folders]) =>
  folders.flatMap((folder): Case[] => {
    const file = `packages/${store}/src/${folder}/file.ts`;
    const others = folders.filter((other) => other !== folder);
    const allowed = mayImportInStore[folder]!;
    return [
      ...others.map((other) => ({ file, imports: `../${other}/other.ts`, allowed: allowed.includes(other) })),
      ...["recurring", "diagnostics", "options", "operations", "state-adapter", "index"].map((name) => ({
        file,
        imports: `../${name}.ts`,
        allowed: false,
      })),
      { file, imports: "leasehold/adapter", allowed: true },
      { file, imports: "leasehold", allowed: false },
      { file: `packages/${store}/src/${folder}/file.test.ts`, imports: "../state-adapter.ts", allowed: true },
    ];
  }),
);

const publicCases = ["otel", "nestjs", "cli", "dashboard"].flatMap((name): Case[] => {
  const file = `packages/${name}/src/commands/file.ts`;
  return [
    { file, imports: "leasehold", allowed: true },
    { file, imports: "leasehold/adapter", allowed: true },
    { file, imports: "leasehold/doctor", allowed: true },
    { file, imports: "leasehold/testing", allowed: false },
    { file, imports: "@leasehold/test-servers", allowed: false },
    { file, imports: "@leasehold/mongodb-test-server", allowed: false },
    { file, imports: "leasehold/dist/worker/loop.js", allowed: false },
    { file, imports: "../../../core/src/worker/loop.ts", allowed: false },
  ];
});

/** Each folder of the dashboard may import the ones before it. */
const dashboardFolders = ["http", "answers", "numbers", "actions", "routes"];

const dashboardCases = dashboardFolders.flatMap((folder, place): Case[] => [
  ...dashboardFolders
    .filter((other) => other !== folder)
    .map((other) => ({
      file: `packages/dashboard/src/${folder}/file.ts`,
      imports: `../${other}/other.ts`,
      allowed: dashboardFolders.indexOf(other) < place,
    })),
  {
    file: `packages/dashboard/src/${folder}/file.ts`,
    imports: "../../../core/src/worker/loop.ts",
    allowed: false,
  },
]);

const testServerCases = ["test-servers", "mongodb-test-server"].flatMap((name): Case[] => {
  const file = `packages/${name}/src/file.ts`;
  return [
    { file, imports: "node:net", allowed: true },
    { file, imports: "leasehold", allowed: false },
    { file, imports: "@leasehold/postgres", allowed: false },
    { file, imports: "../../core/src/base/errors.ts", allowed: false },
  ];
});

const cases = [
  ...coreCases,
  ...storeCases,
  ...entryCases,
  ...adapterEntryCases,
  ...adapterCases,
  ...storeFolderCases,
  ...publicCases,
  ...dashboardCases,
  ...testServerCases,
];

describe("import boundaries", () => {
  let folder: string;
  let refused: Set<string>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "leasehold-boundaries-"));
    copyFileSync(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
    const files = new Map<string, string[]>();
    for (const { file, imports } of cases) files.set(file, [...(files.get(file) ?? []), imports]);
    for (const [file, imports] of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), imports.map((path) => `import "${path}";\n`).join(""));
    }
    refused = lint(folder, files);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("cover every folder of the core", () => {
    expect(Object.keys(mayImport).sort()).toEqual(coreFolders.sort());
  });

  it.each(Object.entries(foldersOfStore))("cover every folder of the store %s", (store, known) => {
    const folders = foldersIn(`packages/${store}/src`).filter(
      (name) => !/^(testing|faults|load)$/.test(name),
    );
    expect(known.toSorted()).toEqual(folders.sort());
  });

  it("cover every file beside the folders", () => {
    const files = readdirSync(join(root, "packages/core/src")).filter((name) => /^[a-z-]+\.ts$/.test(name));
    const known = [...facade, "doctor", "testing"].map((name) => `${name}.ts`);
    expect(files.sort()).toEqual(known.sort());
  });

  it.each(cases)("$file imports $imports: $allowed", ({ file, imports, allowed }) => {
    expect(!refused.has(`${file} ${imports}`)).toBe(allowed);
  });
});

/** The imports that the linter refuses, as `file import`. */
const lint = (folder: string, files: ReadonlyMap<string, readonly string[]>): Set<string> => {
  const command = join(root, "node_modules/.bin/oxlint");
  let report: string;
  try {
    report = execFileSync(command, ["--format", "json", "."], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1e8,
    });
  } catch (error) {
    // It exits with 1 when it finds something.
    report = (error as { stdout: string }).stdout;
  }
  const { diagnostics } = JSON.parse(report) as {
    diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[];
  };
  return new Set(
    diagnostics
      .filter(({ code }) => code.includes("no-restricted-imports"))
      .map(({ filename, labels }) => {
        const file = relative(folder, resolve(folder, filename));
        return `${file} ${files.get(file)![labels[0]!.span.line - 1]}`;
      }),
  );
};

describe("the map in CONTRIBUTING.md", () => {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");

  it.each(coreFolders)("has the folder %s of the core", (name) => {
    expect(text).toMatch(new RegExp(`^ {2}${name}/ `, "m"));
  });

  it.each(foldersIn("packages").filter((name) => name !== "core"))("has the package %s", (name) => {
    expect(text).toMatch(new RegExp(`^packages/(.*, )?${name}(?![\\w-])`, "m"));
  });
});
