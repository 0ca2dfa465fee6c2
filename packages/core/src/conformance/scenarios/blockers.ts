import assert from "node:assert/strict";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

interface Definitions {
  price: { input: { item: string }; output: { cents: number } };
  stock: { input: { item: string }; output: DefineContinuationOutput<"count"> };
  count: { input: DefineContinuationInput<{ item: string }>; output: number };
  offer: { input: null; output: string; blockers: [DefineBlocker<"price">, DefineBlocker<"stock">] };
  order: { input: null; output: DefineContinuationOutput<"pay"> };
  pay: { input: DefineContinuationInput<null>; output: number; blockers: [DefineBlocker<"price">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

const startShop = ({ leasehold, work }: Story<Definitions>) =>
  work(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "price",
        process: async ({ job }) => ({ cents: job.input.item.length * 100 }),
      })
      .implementJobType({
        typeName: "stock",
        process: async ({ job, complete }) =>
          complete(({ continueWith }) => continueWith({ typeName: "count", input: job.input })),
      })
      .implementJobType({ typeName: "count", process: async ({ job }) => job.input.item.length })
      .implementJobType({
        typeName: "offer",
        process: async ({ job }) => {
          const [price, stock] = job.blockers;
          return `${stock.output} at ${price.output.cents}`;
        },
      })
      .implementJobType({
        typeName: "order",
        process: async ({ complete }) =>
          complete(({ continueWith }) =>
            continueWith({
              typeName: "pay",
              startBlockers: async () => [
                await leasehold.startJobSequence({ typeName: "price", input: { item: "pear" } }),
              ],
            }),
          ),
      })
      .implementJobType({ typeName: "pay", process: async ({ job }) => job.blockers[0].output.cents }),
  );

export const describeBlockers: Scenario = ({ test }) => {
  test("in bulk, jobs with blockers and without are started together", jobTypes, async (story) => {
    const { leasehold, completion, queue } = story;
    const price = (item: string) => leasehold.startJobSequence({ typeName: "price", input: { item } });
    const stock = (item: string) => leasehold.startJobSequence({ typeName: "stock", input: { item } });
    const deduplication = { key: queue };
    const started = await leasehold.startJobSequences({
      sequences: [
        { typeName: "price", input: { item: "fig" } },
        {
          typeName: "offer",
          deduplication,
          startBlockers: async ({ job }) => {
            assert.equal(job.typeName, "offer");
            return [await price("apple"), await stock("apple")];
          },
        },
        {
          typeName: "offer",
          deduplication,
          startBlockers: () => assert.fail("it is a duplicate, so there is nothing to wait for"),
        },
        { typeName: "offer", startBlockers: async () => [await price("kiwi"), await stock("kiwi")] },
      ],
    });
    const [fig, apple, duplicate, kiwi] = started;
    assert.deepEqual(
      started.map(({ status, deduplicated }) => [status, deduplicated]),
      [
        ["pending", false],
        ["blocked", false],
        ["blocked", true],
        ["blocked", false],
      ],
    );
    assert.equal(duplicate.id, apple.id);
    const { jobs } = await leasehold.jobs.list({ rootSequenceId: kiwi.id });
    assert.deepEqual(jobs.map(({ typeName }) => typeName).sort(), ["offer", "price", "stock"]);
    await startShop(story);
    assert.equal((await completion(fig)).output.cents, 300);
    assert.equal((await completion(apple)).output, "5 at 500");
    assert.equal((await completion(kiwi)).output, "4 at 400");
  });

  test("in bulk, blockers that cannot be started leave nothing", jobTypes, async ({ leasehold, queue }) => {
    await assert.rejects(
      leasehold.startJobSequences({
        sequences: [
          { typeName: "price", input: { item: "fig" } },
          {
            typeName: "offer",
            startBlockers: async () => {
              await leasehold.startJobSequence({ typeName: "price", input: { item: "apple" } });
              throw new Error("out of apples");
            },
          },
        ],
      }),
      /out of apples/,
    );
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test("a job waits for sequences started with it and reads their outputs", jobTypes, async (story) => {
    const { leasehold, completion, events } = story;
    const started = await leasehold.startJobSequence({
      typeName: "offer",
      startBlockers: async ({ job }) => {
        assert.equal(job.typeName, "offer");
        return [
          await leasehold.startJobSequence({ typeName: "price", input: { item: "fig" } }),
          await leasehold.startJobSequence({ typeName: "stock", input: { item: "plum" } }),
        ];
      },
    });
    assert.equal(started.status, "blocked");

    await startShop(story);

    assert.equal((await completion(started)).output, "4 at 300");
    assert.deepEqual(
      events.all("jobUnblocked").map(({ id }) => id),
      [started.id],
    );
    const job = await leasehold.jobs.get({ id: started.id, typeName: "offer" });
    assert.deepEqual(
      job?.blockers.map(({ typeName, status }) => [typeName, status]),
      [
        ["price", "completed"],
        ["stock", "completed"],
      ],
    );
  });

  test("a job waits for sequences that are already there", jobTypes, async (story) => {
    const { leasehold, completion } = story;
    const price = await leasehold.startJobSequence({ typeName: "price", input: { item: "fig" } });
    const stock = await leasehold.startJobSequence({ typeName: "stock", input: { item: "fig" } });
    const started = await leasehold.startJobSequence({
      typeName: "offer",
      startBlockers: () => [price, stock],
    });
    assert.equal(started.status, "blocked");

    await startShop(story);

    assert.equal((await completion(started)).output, "3 at 300");
    // What was there before belongs to itself, not to the job that waits for it.
    assert.deepEqual((await completion(price)).originId, null);
    assert.deepEqual((await completion(price)).rootSequenceId, price.id);
  });

  test("new and existing sequences mix, in the declared order", jobTypes, async (story) => {
    const { leasehold, completion } = story;
    const stock = await leasehold.startJobSequence({ typeName: "stock", input: { item: "melon" } });
    const started = await leasehold.startJobSequence({
      typeName: "offer",
      startBlockers: async () => [
        await leasehold.startJobSequence({ typeName: "price", input: { item: "fig" } }),
        { id: stock.id, typeName: "stock" },
      ],
    });
    const blockers = await leasehold.jobs.listBlockers({ id: started.id });
    assert.deepEqual(
      blockers.map(({ typeName }) => typeName),
      ["price", "stock"],
    );
    assert.equal(blockers[1]?.id, stock.id);

    await startShop(story);

    assert.equal((await completion(started)).output, "5 at 300");
  });

  test("a job whose blockers have all completed can run at once", jobTypes, async (story) => {
    const { leasehold, completion } = story;
    const price = await leasehold.startJobSequence({ typeName: "price", input: { item: "fig" } });
    const stock = await leasehold.startJobSequence({ typeName: "stock", input: { item: "fig" } });
    await startShop(story);
    await Promise.all([completion(price), completion(stock)]);

    const started = await leasehold.startJobSequence({
      typeName: "offer",
      startBlockers: () => [price, stock],
    });

    assert.equal(started.status, "pending");
    assert.equal((await completion(started)).output, "3 at 300");
  });

  test("one sequence can hold up several jobs", jobTypes, async (story) => {
    const { leasehold, completion } = story;
    const price = await leasehold.startJobSequence({ typeName: "price", input: { item: "fig" } });
    const stock = await leasehold.startJobSequence({ typeName: "stock", input: { item: "fig" } });
    const offers = [];
    for (let n = 0; n < 5; n += 1) {
      offers.push(
        await leasehold.startJobSequence({ typeName: "offer", startBlockers: () => [price, stock] }),
      );
    }
    const { jobs } = await leasehold.jobs.listBlocked({ id: price.id });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      offers.map(({ id }) => id),
    );

    await startShop(story);

    for (const offer of offers) assert.equal((await completion(offer)).output, "3 at 300");
  });

  test("a continuation can have blockers too", jobTypes, async (story) => {
    await startShop(story);
    const { output } = await story.completion(await story.leasehold.startJobSequence({ typeName: "order" }));
    assert.equal(output, 400);
  });

  test(
    "a blocker that does not exist is refused, and nothing is left behind",
    jobTypes,
    async ({ leasehold, queue }) => {
      const price = { id: "01890000-0000-7000-8000-000000000000", typeName: "price" as const };
      const stock = { id: "01890000-0000-7000-8000-000000000001", typeName: "stock" as const };

      await assert.rejects(
        leasehold.startJobSequence({ typeName: "offer", startBlockers: () => [price, stock] }),
        {
          code: "JobNotFound",
        },
      );

      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );
};
