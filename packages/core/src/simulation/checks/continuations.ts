import { type Check, short } from "./check.ts";

export const continuationsAreExact: Check = {
  invariant: "7 a continuation exists once, with its predecessor's completion",
  watch: ({ table, report }) => ({
    onEvent: (event) => {
      if (event.kind !== "applied") return;
      for (const { changes } of event.steps) {
        for (const { before, after } of changes) {
          if (!after) continue;
          if (!before && after.sequenceIndex > 0) {
            const row = table.rows.get(after.id);
            const siblings = [...table.rows.values()].filter(
              ({ sequenceId, sequenceIndex }) =>
                sequenceId === after.sequenceId && sequenceIndex === after.sequenceIndex,
            );
            if (siblings.length > 1)
              report(
                `${short(after.sequenceId)} has ${siblings.length} continuations at ${after.sequenceIndex}`,
              );
            const predecessor = table
              .jobsOf(after.sequenceId)
              .find(({ sequenceIndex }) => sequenceIndex === after.sequenceIndex - 1);
            if (row && (predecessor?.status !== "completed" || predecessor.continuedToId !== after.id)) {
              report(`${short(after.id)} continues a job that is ${predecessor?.status ?? "not there"}`);
            }
          }
          if (
            before?.status !== "completed" &&
            after.status === "completed" &&
            after.continuedToId !== null
          ) {
            if (!table.rows.has(after.continuedToId))
              report(`the continuation of ${short(after.id)} does not exist`);
          }
        }
      }
    },
  }),
};
