import type { FailureCause, FailureCauseListing } from "leasehold";
import type { AnyLeasehold } from "../http/leasehold.ts";
import type { RedactionPlace, Redactor, Viewer } from "../http/rights.ts";

export const hourMs = 3_600_000;

const keptMs = 5_000;

export type ReadCauses = () => Promise<FailureCauseListing>;

/**
 * Grouping thousands of failed jobs is expensive, so the page of causes and the summary of all viewers share one listing for some
 * seconds. It is not redacted: each answer does that for its viewer.
 */
export const createCauses = (leasehold: AnyLeasehold): ReadCauses => {
  let latest: Promise<FailureCauseListing> | undefined;
  return () => {
    if (latest !== undefined) return latest;
    const reading = leasehold.history.listCauses({ everyMs: hourMs });
    latest = reading;
    const drop = (): void => {
      if (latest === reading) latest = undefined;
    };
    // A failure is not reused.
    reading.then(() => setTimeout(drop, keptMs).unref(), drop);
    return reading;
  };
};

/** The texts of a cause. Each is shown only if the redaction rule shows it for every queue and type that failed from the cause. */
export const viewCauseTexts = (
  redact: Redactor,
  viewer: Viewer,
  { exampleId, jobs, name, message, frame }: FailureCause,
): { readonly name: unknown; readonly message: unknown; readonly frame: unknown } => {
  const view = (text: string | null, show: (job: RedactionPlace["job"]) => unknown): unknown => {
    const views = jobs.map(({ typeName, queue }) => show({ id: exampleId, typeName, queue }));
    return views.find((shown) => shown !== text) ?? text;
  };
  return {
    name: view(name, (job) => redact.label(job, ["name"], name)),
    message: view(message, (job) => redact.payload(viewer, job, "error", message, ["message"])),
    frame: view(frame, (job) => redact.label(job, ["frame"], frame)),
  };
};
