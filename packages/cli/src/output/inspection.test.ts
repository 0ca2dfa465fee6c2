import { createInProcessStateAdapter, createLeasehold, defineJobTypes } from "leasehold";
import { expect, it } from "vitest";
import { createOutput } from "./output.ts";
import { renderInspection } from "./inspection.ts";

it("a blocked job is shown with what holds it up, to the end", async () => {
  const jobTypes = defineJobTypes({
    ship: { blockers: ["reserve-stock"] },
    "reserve-stock": { blockers: ["count-stock"] },
    "count-stock": {},
  });
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, statistics: false });
  await leasehold.limits.pause({ typeName: "count-stock" });
  const count = await leasehold.startJobSequence({ typeName: "count-stock" });
  const reserve = await leasehold.startJobSequence({
    typeName: "reserve-stock",
    startBlockers: () => [count],
  });
  const ship = await leasehold.startJobSequence({ typeName: "ship", startBlockers: () => [reserve] });
  const job = (await leasehold.jobs.get(ship))!;
  const inspection = {
    job,
    explanation: await leasehold.jobs.explain(ship),
    attempts: null,
    blockers: [],
    sequence: [job],
    dependants: [],
    hasMore: { sequence: false, dependants: false },
  };
  const output = {
    ...createOutput({ json: false, redact: (text) => text, env: { NO_COLOR: "1" } }),
    columns: 160,
  };
  const text = renderInspection(output, inspection, { now: Date.now(), stack: false });
  expect(text).toContain(
    `Held up by\n  ${reserve.id} reserve-stock waits for count-stock\n` +
      `  ${count.id} count-stock waits for type "count-stock" in queue "default", which is paused\n`,
  );
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    'It waits for reserve-stock, which waits for count-stock, which waits for type "count-stock" in queue "default", which is paused.',
  );
  await leasehold.close();
});
