// A saga: a step that cannot go on continues with the step that undoes the earlier ones.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
} from "leasehold";

// #region types
const jobTypes = defineUnionJobTypes<{
  "book-room": { input: { guest: string }; output: DefineContinuationOutput<"charge-card"> };
  "charge-card": {
    input: DefineContinuationInput<{ guest: string; booking: string }>;
    output: { booking: string } | DefineContinuationOutput<"cancel-room">;
  };
  "cancel-room": {
    input: DefineContinuationInput<{ booking: string; because: string }>;
    output: { cancelled: string };
  };
}>({ "charge-card": { maxAttempts: 3, retry: { type: "fixed", delayMs: 5 } } });
// #endregion

class CardDeclinedError extends Error {}

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // Stands for a payment provider.
  const charge = async (guest: string, _options: { idempotencyKey: string }): Promise<void> => {
    if (guest === "Charles") throw new CardDeclinedError("The card was declined.");
    if (guest === "Grace") throw new Error("The payment provider does not answer.");
  };

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "book-room",
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) =>
          continueWith({
            typeName: "charge-card",
            input: { guest: job.input.guest, booking: `room for ${job.input.guest}` },
          }),
        ),
    })
    // #region compensate
    .implementJobType({
      typeName: "charge-card",
      process: async ({ job, complete }) => {
        const { guest, booking } = job.input;
        let because: string | undefined;
        try {
          await charge(guest, { idempotencyKey: job.id });
        } catch (error) {
          // A refusal is final. Anything else is tried again, until this was the last attempt.
          const isFinal = error instanceof CardDeclinedError || job.attempt >= job.maxAttempts;
          if (!isFinal) throw error;
          because = (error as Error).message;
        }
        return complete(async ({ continueWith }) =>
          because === undefined
            ? { booking }
            : continueWith({ typeName: "cancel-room", input: { booking, because } }),
        );
      },
    })
    .implementJobType({
      typeName: "cancel-room",
      process: async ({ job }) => ({ cancelled: `${job.input.booking}: ${job.input.because}` }),
    })
    // #endregion
    .start();

  for (const guest of ["Ada", "Charles", "Grace"]) {
    const started = await leasehold.startJobSequence({ typeName: "book-room", input: { guest } });
    const { output } = await leasehold.waitForJobSequenceCompletion(started);
    print("booking" in output ? `Booked: ${output.booking}` : `Cancelled: ${output.cancelled}`);
  }

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
