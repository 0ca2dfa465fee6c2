import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import * as leasehold from "leasehold";
import type {
  FailureReason,
  ImplementJobTypeBatchOptions,
  ImplementJobTypeOptions,
  InProcessStateAdapter,
  JobAbortReason,
  JobExplanation,
  JobTypeOptions,
  LeaseholdApi,
  LeaseholdOptions,
  QueueOptions,
  StopOptions,
  WorkerDefinitionOptions,
  WorkerStartOptions,
} from "leasehold";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

// Copies of docs/, for the site and for npm.
const copies = new Set(["site/pages", "packages/core/docs"]);

/** Every file of the repository: not what is installed or built, and not the notes that changesets consume. */
const findFiles = (folder = ""): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (/^(\.|node_modules$|dist$|tarballs$|bench-results$)/.test(entry.name)) return [];
    const path = join(folder, entry.name);
    if (copies.has(path)) return [];
    return entry.isDirectory() ? findFiles(path) : [path];
  });

const files = findFiles();
const pages = files.filter((path) => path.endsWith(".md"));

const dedent = (lines: readonly string[]): string[] => {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent));
};

/** The lines between `// #region name` and the next `// #endregion`; several of one name stand below each other. */
const readRegion = (file: string, region: string): string => {
  const pieces: string[] = [];
  const lines = read(file).split("\n");
  for (const [start, line] of lines.entries()) {
    if (line.trim() !== `// #region ${region}`) continue;
    const end = lines.findIndex((candidate, index) => index > start && candidate.trim() === "// #endregion");
    pieces.push(dedent(lines.slice(start + 1, end)).join("\n"));
  }
  return pieces.join("\n\n");
};

const taggedSnippet = /<!-- from (examples\/[a-z./-]+\.ts)(?:#([a-z-]+))? -->\n+```ts\n([\s\S]*?)\n```/g;
const tag = /<!-- from /g;

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, "");

/** The anchors GitHub gives to the headings of a page: lower case, no punctuation, numbered where they repeat. */
const findAnchors = (text: string): Set<string> => {
  const anchors = new Set<string>();
  for (const [, heading] of withoutCode(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const words = heading!.replace(/\]\([^)]*\)/g, "]").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    let unique = anchor;
    for (let copy = 1; anchors.has(unique); copy += 1) unique = `${anchor}-${copy}`;
    anchors.add(unique);
  }
  return anchors;
};

const findBrokenLinks = (page: string): string[] => {
  const text = withoutCode(read(page)).replace(/`[^`\n]*`/g, "");
  const inline = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const references = [...text.matchAll(/^\[[^\]]+\]: +(\S+)/gm)].map(([, link]) => link!);
  return [...inline, ...references].filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !findAnchors(read(target)).has(anchor);
  });
};

describe("documentation", () => {
  it.each(pages)("%s shows the code that runs", (page) => {
    const text = read(page);
    const snippets = [...text.matchAll(taggedSnippet)];
    expect(snippets.length, "every tag stands above a ts snippet").toBe([...text.matchAll(tag)].length);
    for (const [, file, region = "readme", snippet] of snippets) {
      expect(readRegion(file!, region), `${file}#${region}`).not.toBe("");
      expect(snippet, `${file}#${region}`).toBe(readRegion(file!, region));
    }
  });

  it.each(pages)("%s links to files and headings that exist", (page) => {
    expect(findBrokenLinks(page)).toEqual([]);
  });

  it("notices links that lead nowhere", () => {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-links-"));
    try {
      const page = join(folder, "page.md");
      writeFileSync(
        page,
        "# A `first` page, of two\n[1](#a-first-page-of-two) [2](page.md#a-first-page-of-two) [3](https://example.com/gone)\n[4](#second) [5](gone.md) [6](page.md#gone)\n\n[7]: missing.md\n",
      );
      expect(findBrokenLinks(relative(root, page))).toEqual([
        "#second",
        "gone.md",
        "page.md#gone",
        "missing.md",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each(["docs", "docs/design"])("has an index that leads to every page in %s", (folder) => {
    const index = read(`${folder}/README.md`);
    const missing = pages
      .filter((page) => dirname(page) === folder && basename(page) !== "README.md")
      .filter((page) => !index.includes(`(${basename(page)}`));
    expect(missing).toEqual([]);
  });

  it("has a README that fits on a few screens", () => {
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(200);
  });

  it.each(["docs/design/README.md", "docs/adapters.md", "docs/testing.md"])(
    "%s names files that exist",
    (page) => {
      const named = [...read(page).matchAll(/`([a-z][\w./-]*\.ts)`/g)].map(([, name]) => name!);
      expect(named.filter((name) => !files.some((path) => `/${path}`.endsWith(`/${name}`)))).toEqual([]);
    },
  );

  it.each(pages.filter((page) => /^docs\/design\/\d/.test(page)))(
    "%s has the form of a design note",
    (page) => {
      const number = basename(page).slice(0, 4);
      expect(read(page)).toMatch(new RegExp(`^# ${number}: .+\\n\\nStatus: (accepted|proposed|superseded)`));
    },
  );

  it("lists every example", () => {
    const text = read("examples/README.md");
    for (const file of readdirSync(import.meta.dirname).filter((file) => /^[a-z-]+\.ts$/.test(file))) {
      expect(text).toContain(`(${file})`);
    }
  });

  it("explains every error", () => {
    const text = read("docs/errors.md");
    const errors = Object.entries(leasehold).filter(
      ([, value]) => typeof value === "function" && value.prototype instanceof Error,
    );
    expect(errors.length).toBeGreaterThan(20);
    for (const [name] of errors) expect(text).toContain(`\`${name}\``);
  });
});

// The compiler keeps these lists complete; the tests keep the pages complete.
type Names<T> = Record<keyof T & string, true>;

const workerStartOptions = {
  workerId: true,
  concurrency: true,
  queues: true,
  prefetch: true,
  pollIntervalMs: true,
  leaseMs: true,
  maxAttempts: true,
  reapIntervalMs: true,
  pruneIntervalMs: true,
  idleSleepMs: true,
  abortGraceMs: true,
  stopDeadlineMs: true,
  commitBatchSize: true,
  commitLingerMs: true,
  workerLoopRetryConfig: true,
} satisfies Names<WorkerStartOptions>;

const leaseholdOptions = {
  stateAdapter: true,
  jobTypes: true,
  notifyAdapter: true,
  observabilityAdapter: true,
  log: true,
  codec: true,
  maxPayloadBytes: true,
  storeDeadlineMs: true,
  storeRetry: true,
  defaults: true,
  createId: true,
  recurringJobs: true,
  deployment: true,
  statistics: true,
  runtime: true,
} satisfies Names<LeaseholdOptions<object, InProcessStateAdapter>>;

const jobTypeOptions = {
  input: true,
  output: true,
  internal: true,
  continuesTo: true,
  blockers: true,
  onBlockerFailure: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  retry: true,
  timeoutMs: true,
  expireAfterMs: true,
  leaseMs: true,
  retention: true,
  workerless: true,
  group: true,
  ordered: true,
} satisfies Names<JobTypeOptions>;

const handlerOptions = {
  typeName: true,
  process: true,
  retry: true,
  maxAttempts: true,
  timeoutMs: true,
} satisfies Names<ImplementJobTypeOptions<{ any: { input: null; output: null } }, object, string, "any">>;

const batchHandlerOptions = {
  ...handlerOptions,
  maxSize: true,
  maxWaitMs: true,
  sameGroup: true,
} satisfies Names<
  ImplementJobTypeBatchOptions<{ any: { input: null; output: null } }, object, string, "any">
>;

const otherWorkerOptions = {
  retry: true,
  claimAllTypes: true,
  concurrency: true,
  deadlineMs: true,
} satisfies Names<WorkerDefinitionOptions & QueueOptions & StopOptions>;

const methods = {
  startJobSequence: true,
  startJobSequences: true,
  completeJobSequence: true,
  waitForJobSequenceCompletion: true,
  deleteJobSequences: true,
  runInTransaction: true,
  withNotify: true,
  createWorker: true,
  getTime: true,
  close: true,
  jobs: true,
  recurring: true,
  limits: true,
  history: true,
} satisfies Names<Omit<LeaseholdApi<object, object, string>, "~types">>;

const prefixed = (prefix: string, names: object): Record<string, unknown> =>
  Object.fromEntries(Object.keys(names).map((name) => [`${prefix}.${name}`, true]));

const namespaces = {
  ...prefixed("jobs", {
    get: true,
    list: true,
    count: true,
    explain: true,
    getSequence: true,
    listSequences: true,
    listInSequence: true,
    listBlockers: true,
    listBlocked: true,
    cancel: true,
    redrive: true,
    update: true,
    prune: true,
  } satisfies Names<LeaseholdApi<object, object, string>["jobs"]>),
  ...prefixed("recurring", {
    put: true,
    update: true,
    pause: true,
    resume: true,
    delete: true,
    trigger: true,
    get: true,
    list: true,
    preview: true,
  } satisfies Names<LeaseholdApi<object, object, string>["recurring"]>),
  ...prefixed("limits", {
    set: true,
    pause: true,
    resume: true,
    list: true,
    listGroups: true,
  } satisfies Names<LeaseholdApi<object, object, string>["limits"]>),
  ...prefixed("history", {
    listAttempts: true,
    listCauses: true,
    listProcesses: true,
    getStatistics: true,
  } satisfies Names<LeaseholdApi<object, object, string>["history"]>),
};

const failureReasons = {
  attempts_exhausted: true,
  unrecoverable: true,
  blocker_failed: true,
  cancelled: true,
  no_handler: true,
  invalid_input: true,
  expired: true,
} satisfies Record<FailureReason, true>;

const abortReasons = {
  taken_by_another_worker: true,
  already_completed: true,
  not_found: true,
  error: true,
  lease_expired: true,
  timeout: true,
  cancelled: true,
  shutdown: true,
} satisfies Record<JobAbortReason, true>;

const explanationStates = {
  runnable: true,
  throttled: true,
  workerless: true,
  expired: true,
  scheduled: true,
  retrying: true,
  blocked: true,
  running: true,
  lease_expired: true,
  completed: true,
  failed: true,
} satisfies Record<JobExplanation["state"], true>;

describe("reference pages", () => {
  it.each([
    ["docs/options.md", "worker start options", workerStartOptions],
    ["docs/options.md", "options of createLeasehold", leaseholdOptions],
    ["docs/options.md", "options of job types", jobTypeOptions],
    ["docs/options.md", "options of implementJobType", handlerOptions],
    ["docs/options.md", "options of implementJobTypeBatch", batchHandlerOptions],
    ["docs/options.md", "options of createWorker, queues and stop", otherWorkerOptions],
    ["docs/guide.md", "methods", methods],
    ["docs/guide.md", "methods of namespaces", namespaces],
    ["docs/state-machine.md", "failure reasons", failureReasons],
    ["docs/guide.md", "abort reasons", abortReasons],
    ["docs/troubleshooting.md", "states of explanations", explanationStates],
  ])("%s names all %s", (page, _what, names) => {
    const text = read(page);
    const missing = Object.keys(names).filter((name) => !text.includes(`\`${name}`));
    expect(missing).toEqual([]);
  });
});
