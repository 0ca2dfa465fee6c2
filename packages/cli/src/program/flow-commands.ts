import type { Command } from "commander";
import { parseGroupWeight, parseOrNone, parseRate } from "../options/flow-values.ts";
import { parseDuration, parseInteger } from "../options/values.ts";
import type { Run } from "./run.ts";

const largestLimit = 2 ** 31 - 1;

const addScope = (command: Command): Command =>
  command.option("-q, --queue <queue>", "the queue").option("-t, --type <type>", "only jobs of this type");

/** flow, flow set, flow enable, pause, resume, groups. */
export const addFlowCommands = (program: Command, run: Run): void => {
  const flow = program
    .command("flow")
    .description("show limits, rates and pauses, and how much of them is in use")
    .option("-q, --queue <queue>", "only this queue")
    .action((options) =>
      run(async (context) => (await import("../commands/flow.ts")).showFlow(context, options)),
    );

  const limit = parseOrNone(parseInteger(1, largestLimit));
  addScope(flow.command("set").description("change limits, for all workers at once; `none` removes one"))
    .option("-c, --concurrency <number>", "jobs that run at once", limit)
    .option("--rate <limit/time>", "starts in a time: 100/1m, or 100/1m/10 with a burst of 10", parseRate)
    .option("--group-concurrency <number>", "jobs of each group that run at once", limit)
    .option("--group-rate <limit/time>", "the same as --rate, for each group", parseRate)
    .option("--weight <group=number>", "turns of a group for one of others", parseGroupWeight)
    .option("--age <duration>", "waiting that is worth one step of priority", parseOrNone(parseDuration))
    .action((options) =>
      run(async (context) => (await import("../commands/flow.ts")).setFlow(context, options)),
    );

  flow
    .command("enable")
    .description("allow groups and limits in a store made by an older version")
    .option("-y, --yes", "do not ask")
    .action((options) =>
      run(async (context) => (await import("../commands/flow.ts")).enableFlow(context, options)),
    );

  addScope(
    program.command("pause").description("start no more jobs of a queue or type; what runs goes on"),
  ).action((options) =>
    run(async (context) => (await import("../commands/flow.ts")).pause(context, options)),
  );

  addScope(program.command("resume").description("end a pause"))
    .option("-g, --group <group>", "let a group go on that stopped at a failed job")
    .action((options) =>
      run(async (context) => (await import("../commands/flow.ts")).resume(context, options)),
    );

  program
    .command("groups <type>")
    .description("list the groups of a type that have waiting or running jobs")
    .option("-q, --queue <queue>", "the queue (default: that of the type)")
    .option("--held", "only groups that something holds back", false)
    .option("--running", "those with the most running jobs first, not those that waited longest", false)
    .option("-n, --top <number>", "how many", parseInteger(1, 1_000), 20)
    .action((type: string, options) =>
      run(async (context) => (await import("../commands/groups.ts")).listGroups(context, type, options)),
    );
};
