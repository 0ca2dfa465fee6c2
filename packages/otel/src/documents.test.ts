import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { createInProcessStateAdapter, createLeasehold } from "leasehold";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { jobTypes, runAllStories } from "./testing/stories.ts";
import { createTelemetry, registerContextManager } from "./testing/telemetry.ts";

const root = resolve(import.meta.dirname, "../../..");

const read = (path: string): string => readFileSync(resolve(root, path), "utf8");

const page = read("docs/observability.md");

const dashboard = JSON.parse(read("docs/observability/grafana-dashboard.json")) as {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { query?: string | { query: string } }[] };
};

const rules = read("docs/observability/prometheus-rules.yaml");

interface Emitted {
  readonly metrics: ReadonlyMap<string, ReadonlySet<string>>;
  readonly prometheusNames: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
  readonly spanNames: ReadonlySet<string>;
  readonly spanAttributes: ReadonlySet<string>;
}

/** Everything that is emitted when everything happens. */
const emitAll = async (): Promise<Emitted> => {
  const telemetry = createTelemetry({ messagingMetrics: true });
  await runAllStories(telemetry.adapter);
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes,
    observabilityAdapter: telemetry.adapter,
  });
  const sequence = { typeName: "quick" as const, deduplication: { key: "one" } };
  await leasehold.startJobSequences({ sequences: [sequence, sequence] });
  await leasehold.limits.set({ typeName: "quick", concurrency: 1 });
  telemetry.adapter.observeStore(stateAdapter);

  const metrics = await telemetry.collect();
  const text = new PrometheusSerializer().serialize((await telemetry.collectAll())!);
  const keysOf = (items: readonly { attributes?: object | undefined }[]) =>
    items.flatMap(({ attributes }) => Object.keys(attributes ?? {}));
  const spans = telemetry.spans();
  return {
    metrics: new Map([...metrics].map(([name, { dataPoints }]) => [name, new Set(keysOf(dataPoints))])),
    prometheusNames: new Set([...text.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name!)),
    labels: new Set([...text.matchAll(/[{,]([a-zA-Z_]+)="/g)].map(([, label]) => label!)),
    spanNames: new Set(spans.map(({ name }) => name.replace(/ \S+$/, ""))),
    spanAttributes: new Set([...keysOf(spans), ...keysOf(spans.flatMap(({ links }) => links))]),
  };
};

let emitted: Emitted;

beforeAll(async () => {
  registerContextManager();
  emitted = await emitAll();
});

const section = (title: string): string => {
  const [, rest = ""] = page.split(`\n## ${title}\n`);
  return rest.split("\n## ")[0]!;
};

/** The cells of the rows of every table whose first cell is code. */
const tableRows = (text: string): string[][] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );

const code = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, inner]) => inner!);

const expressions = (): string[] => [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ query }) => (typeof query === "object" ? [query.query] : [])),
  ...[...rules.matchAll(/expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/g)].map(([, block, line]) => block ?? line!),
];

describe("the documentation", () => {
  it("lists every metric that is emitted, with its attributes, and no other", () => {
    const rows = tableRows(section("Metrics")).filter(([name]) => /^`(leasehold|messaging)\./.test(name!));
    const documented = new Map(rows.map((cells) => [code(cells[0]!)[0]!, cells]));
    expect([...documented.keys()].sort()).toEqual([...emitted.metrics.keys()].sort());
    for (const [name, attributes] of emitted.metrics) {
      if (name.startsWith("messaging.")) continue;
      const listed = documented.get(name)!.slice(1, -1).flatMap(code);
      expect(listed.toSorted(), name).toEqual([...attributes].sort());
    }
  });

  it("lists every span and attribute that is emitted, and no other", () => {
    const rows = tableRows(section("Traces"));
    const names = rows.map(([first]) => code(first!)[0]!);
    const spans = names.filter((name) => name.includes(" ")).map((name) => name.split(" ")[0]!);
    expect(new Set(spans)).toEqual(emitted.spanNames);
    expect(names.filter((name) => !name.includes(" ")).sort()).toEqual([...emitted.spanAttributes].sort());
  });

  it("shows code that runs", () => {
    const snippets = [...page.matchAll(/<!-- snippet (\S+)#(\S+) -->\n\n```ts\n([\s\S]*?)\n```/g)];
    expect(snippets.length).toBeGreaterThan(0);
    for (const [, file, region, snippet] of snippets) {
      const pieces = read(file!)
        .split(`// #region ${region}\n`)
        .slice(1)
        .map((piece) =>
          piece
            .split(/^ *\/\/ #endregion$/m)[0]!
            .replaceAll(/^ {2}(?=\S| {2}\S)/gm, "")
            .trimEnd(),
        );
      const indented = (text: string): string => text.replaceAll(/^ +/gm, "");
      expect(indented(snippet!)).toBe(indented(pieces.join("\n\n")));
    }
  });
});

describe("the dashboard and the alert rules", () => {
  it("are read whole by this test", () => {
    expect([...rules.matchAll(/- alert:/g)].length).toBe([...rules.matchAll(/expr:/g)].length);
    expect(expressions().length).toBeGreaterThan(40);
    for (const expression of expressions()) expect(expression).toContain("leasehold_");
  });

  it("use only metrics that are emitted", () => {
    const used = new Set(expressions().flatMap((expression) => expression.match(/leasehold_[a-z_]+/g) ?? []));
    expect([...used].filter((name) => !emitted.prometheusNames.has(name))).toEqual([]);
  });

  it("use only labels that are emitted, and close every bracket", () => {
    for (const expression of expressions()) {
      const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list]) =>
        list!.split(/, */),
      );
      const matched = [...expression.matchAll(/([a-zA-Z_]+)(?:=~|!=|=")/g)].map(([, label]) => label!);
      for (const label of [...grouped, ...matched])
        expect([...emitted.labels, "le"], expression).toContain(label);
      for (const [open, close] of [
        ["(", ")"],
        ["{", "}"],
        ["[", "]"],
      ])
        expect(expression.split(open!).length, expression).toBe(expression.split(close!).length);
    }
  });
});
