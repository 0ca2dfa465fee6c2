import { MongoServerError } from "mongodb";
import type { Collection } from "mongodb";
import { expect, test } from "vitest";
import { useServer } from "../testing/use-server.ts";

const setup = useServer();

interface Register {
  _id: number;
  by: string;
}

interface Committed {
  readonly id: string;
  readonly reads: ReadonlyMap<number, string>;
  readonly writes: readonly number[];
}

const registers = 6;
const pick = (count: number): number[] =>
  Array.from({ length: registers }, (_, i) => i)
    .sort(() => Math.random() - 0.5)
    .slice(0, count);

/** Reads some registers, then writes its name into some; `undefined` when it lost a conflict. */
const runTransaction = async (
  collection: Collection<Register>,
  id: string,
): Promise<Committed | undefined> => {
  await using session = setup().client.startSession();
  const reads = new Map<number, string>();
  const writes = pick(2);
  session.startTransaction();
  try {
    for (const _id of pick(3)) {
      const found = await collection.findOne({ _id }, { session });
      reads.set(_id, found?.by ?? "nobody");
    }
    for (const _id of writes) await collection.updateOne({ _id }, { $set: { by: id } }, { session });
    await session.commitTransaction();
    return { id, reads, writes };
  } catch (error) {
    if (!(error instanceof MongoServerError) || !error.hasErrorLabel("TransientTransactionError"))
      throw error;
    return undefined;
  }
};

/** Who wrote each register, in the order of commits. */
const readHistory = async (collection: Collection<Register>, count: number, run: () => Promise<void>) => {
  await using stream = collection.watch([{ $match: { operationType: "update" } }]);
  const first = stream.tryNext();
  await first;
  await run();
  const events: { register: number; by: string; commit: string }[] = [];
  for (;;) {
    const event = await stream.tryNext();
    if (event === null) break;
    if (event.operationType !== "update") continue;
    const { documentKey, updateDescription, clusterTime } = event;
    const by = updateDescription.updatedFields?.by ?? "";
    events.push({ register: documentKey._id, by, commit: String(clusterTime?.toBigInt()) });
  }
  expect(events.length).toBeGreaterThan(count);
  return events;
};

test(
  "histories of concurrent transactions and single writes are snapshot isolated",
  { timeout: 30_000 },
  async () => {
    const collection = setup().collection<Register>();
    await collection.insertMany(Array.from({ length: registers }, (_, _id) => ({ _id, by: "nobody" })));
    const committed: Committed[] = [];

    const single = async (name: string) => {
      for (let round = 0; round < 15; round++) {
        const [_id = 0] = pick(1);
        await collection.updateOne({ _id }, { $set: { by: `${name}-${round}` } });
      }
    };
    const worker = async (name: string) => {
      for (let round = 0, done = 0; done < 6; round++) {
        const result = await runTransaction(collection, `${name}-${round}`);
        if (result === undefined) continue;
        committed.push(result);
        done++;
      }
    };
    const events = await readHistory(collection, 50, async () => {
      await Promise.all([...["t1", "t2", "t3", "t4", "t5"].map(worker), single("s1"), single("s2")]);
    });

    // Positions of commits; a register's value holds from its commit to the next one that writes it.
    const commits = [...new Set(events.map(({ commit }) => commit))];
    const positionOf = new Map(events.map(({ by, commit }) => [by, commits.indexOf(commit)]));
    const writesTo = (register: number) =>
      events.filter((event) => event.register === register).map(({ commit }) => commits.indexOf(commit));
    for (const { id, reads, writes } of committed) {
      let from = -1;
      let until = Number.POSITIVE_INFINITY;
      for (const [register, by] of reads) {
        const read = by === "nobody" ? -1 : (positionOf.get(by) ?? Number.NaN);
        from = Math.max(from, read);
        until = Math.min(until, ...writesTo(register).filter((position) => position > read));
      }
      // All reads hold at one moment,
      expect(from, `the snapshot of ${id}`).toBeLessThan(until);
      // and nobody else wrote what it wrote between its last possible snapshot and its commit.
      const own = positionOf.get(id) ?? Number.NaN;
      const snapshot = Math.min(until - 1, own - 1);
      for (const register of writes) {
        const between = writesTo(register).filter((position) => position > snapshot && position < own);
        expect(between, `writes under the feet of ${id}`).toEqual([]);
      }
    }
  },
);

test("no increment is lost, whether in transactions or not", { timeout: 30_000 }, async () => {
  const collection = setup().collection<{ _id: number; n: number }>();
  await collection.insertOne({ _id: 1, n: 0 });
  const readAndWrite = async () => {
    await using session = setup().client.startSession();
    await session.withTransaction(async () => {
      const found = await collection.findOne({ _id: 1 }, { session });
      await collection.updateOne({ _id: 1 }, { $set: { n: (found?.n ?? 0) + 1 } }, { session });
    });
  };
  const tasks = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0 ? readAndWrite() : collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }),
  );
  await Promise.all(tasks);
  expect(await collection.findOne()).toEqual({ _id: 1, n: 40 });
});
