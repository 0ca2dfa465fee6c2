import { expect, it } from "vitest";
import type { CommandContext } from "./context.ts";
import { list, sequences } from "./query.ts";

interface Page {
  readonly items: readonly object[];
  readonly cursor: string | null;
}

/** The command on a store that answers with these pages, one after the other. */
const runOn = async (
  pages: readonly Page[],
  command: (context: CommandContext) => Promise<unknown>,
): Promise<{ readonly printed: unknown; readonly calls: readonly object[] }> => {
  const calls: object[] = [];
  const read = async (options: object): Promise<object> => {
    const { items, cursor } = pages[calls.length]!;
    calls.push(options);
    return { jobs: items, sequences: items, cursor };
  };
  let printed: unknown;
  const context = {
    output: { json: true, printJson: (value: unknown) => (printed = value) },
    withStore: (_needs: object, run: (store: object) => Promise<unknown>) =>
      run({ leasehold: { jobs: { list: read, listSequences: read } } }),
  } as unknown as CommandContext;
  await command(context);
  return { printed, calls };
};

const job = { id: "a" };
const none = (cursor: string) => ({ items: [], cursor });

it("a list goes on behind pages without a match", async () => {
  const pages = [none("1"), none("2"), { items: [job], cursor: "3" }, { items: [], cursor: null }];
  const { printed, calls } = await runOn(pages, (context) =>
    list(context, { type: ["mail"], limit: 10, order: "newest" }),
  );
  expect(printed).toEqual({ jobs: [job], cursor: null });
  expect(calls).toMatchObject([
    { typeName: ["mail"], limit: 10 },
    { cursor: "1", limit: 10 },
    { cursor: "2", limit: 10 },
    { cursor: "3", limit: 9 },
  ]);
});

it("a list ends when it has what it was asked for", async () => {
  const { printed, calls } = await runOn([none("1"), { items: [job], cursor: "2" }], (context) =>
    list(context, { limit: 1, order: "newest" }),
  );
  expect(printed).toEqual({ jobs: [job], cursor: "2" });
  expect(calls).toHaveLength(2);
});

it("a list of sequences goes on behind pages without a match", async () => {
  const { printed } = await runOn([none("1"), none("2"), { items: [job], cursor: null }], (context) =>
    sequences(context, { limit: 10, order: "newest", rootsOnly: false }),
  );
  expect(printed).toEqual({ sequences: [job], cursor: null });
});
