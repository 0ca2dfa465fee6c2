// Starts jobs one after the other and prints a line after each, for a test that traces the system calls in between.
import { writeSync } from "node:fs";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const { file, driver, jobs } = JSON.parse(process.argv[2]);
const stateAdapter = await createSqliteStateAdapter({ file, driver });
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
for (let number = 0; number < jobs; number += 1) {
  await leasehold.startJobSequence({ typeName: "count", input: number });
  writeSync(1, `acknowledged ${number}\n`);
}
await stateAdapter.close();
