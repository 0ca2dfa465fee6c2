// A step that no worker runs: it stays pending until a person decides, and the sequence goes on from there.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
  JobAlreadyCompletedError,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "approve-post": {
    input: { title: string };
    output: { rejectedBy: string } | DefineContinuationOutput<"publish-post">;
  };
  "publish-post": {
    input: DefineContinuationInput<{ title: string; approvedBy: string }>;
    output: { url: string };
  };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // No handler for "approve-post": a worker claims only types it can run.
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "publish-post",
      process: async ({ job }) => ({ url: `/posts/${job.input.title}?by=${job.input.approvedBy}` }),
    })
    .start();

  const post = await leasehold.startJobSequence({ typeName: "approve-post", input: { title: "leases" } });
  print(`Waiting for approval: ${post.status}`);

  // #region approve
  // In the route that handles the click on "approve":
  const approve = async (id: string, approvedBy: string): Promise<void> => {
    await leasehold.completeJobSequence({
      id,
      typeName: "approve-post",
      complete: async ({ job, complete }) => {
        if (job.typeName !== "approve-post") throw new JobAlreadyCompletedError(id);
        await complete(job, async ({ continueWith }) =>
          continueWith({ typeName: "publish-post", input: { title: job.input.title, approvedBy } }),
        );
      },
    });
  };
  // #endregion
  await approve(post.id, "Grace");

  const { output } = await leasehold.waitForJobSequenceCompletion(post);
  print("url" in output ? `Published at ${output.url}` : `Rejected by ${output.rejectedBy}`);

  try {
    await approve(post.id, "Ada");
  } catch (error) {
    print(`A second click: ${(error as Error).name}`);
  }

  const { jobs } = await leasehold.jobs.listInSequence({ id: post.id, typeName: post.typeName });
  for (const job of jobs) {
    if (job.status === "completed")
      print(`${job.typeName}: ${job.completedBy === null ? "no worker" : "a worker"}`);
  }

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
