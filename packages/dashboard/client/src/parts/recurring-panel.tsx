import { toSegment } from "../../../src/path-segment.ts";
import type { RecurringJob } from "../answers.ts";
import { ConfirmPanel } from "./confirm-panel.tsx";

export type RecurringVerb = "pause" | "resume" | "trigger";

const verbs: Readonly<Record<RecurringVerb, { readonly title: string; readonly done: string }>> = {
  pause: { title: "Pause", done: "paused" },
  resume: { title: "Resume", done: "resumed" },
  trigger: { title: "Run now:", done: "asked to run" },
};

/** What happens when it runs while the one before is not finished, by its policy. */
const overlaps: Readonly<Record<string, string>> = {
  allow: "It starts whether the one before has finished or not.",
  skip: "If the one before has not finished, nothing is started.",
  queue_one: "If the one before has not finished, it starts after that.",
  replace: "If the one before has not finished, that one is cancelled.",
};

const explain = (verb: RecurringVerb, { job, overlap }: RecurringJob): string => {
  if (verb === "pause") return "It starts no more jobs until it is resumed. Those that it has started go on.";
  if (verb === "resume")
    return "It goes on with its next time. What fell due while it was paused is not made up for.";
  return `A job of type ${job.typeName} is started now. Its regular times stay as they are. ${overlaps[overlap] ?? ""}`;
};

export const RecurringPanel = ({
  recurring,
  verb,
  onClose,
  onDone,
}: {
  readonly recurring: RecurringJob;
  readonly verb: RecurringVerb;
  onClose(): void;
  onDone(): void;
}) => {
  const { title, done } = verbs[verb];
  const deed = {
    title: `${title} ${recurring.id}`,
    path: `recurring/${toSegment(recurring.id)}/${verb}`,
    done: `${recurring.id}: ${done}.`,
  };
  return (
    <ConfirmPanel deed={deed} onClose={onClose} onDone={onDone}>
      <p class="big">{explain(verb, recurring)}</p>
    </ConfirmPanel>
  );
};
