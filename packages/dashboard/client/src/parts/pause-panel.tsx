import type { FlowRule } from "../answers.ts";
import { ConfirmPanel } from "./confirm-panel.tsx";

/** Which rule it is, as the server takes it. */
export const scopeOf = ({ queue, typeName }: FlowRule): object => ({
  queue,
  ...(typeName !== null && { typeName }),
});

export const nameOf = ({ queue, typeName }: FlowRule): string =>
  typeName === null ? `queue ${queue}` : `${typeName} in queue ${queue}`;

/** Pauses a queue or type, or ends its pause. */
export const PausePanel = ({
  rule,
  onClose,
  onDone,
}: {
  readonly rule: FlowRule;
  onClose(): void;
  onDone(): void;
}) => {
  const verb = rule.paused ? "resume" : "pause";
  const name = nameOf(rule);
  const deed = {
    title: `${rule.paused ? "Resume" : "Pause"} ${name}`,
    path: `flow/${verb}`,
    body: scopeOf(rule),
    done: `${name} ${verb}d.`,
  };
  return (
    <ConfirmPanel deed={deed} onClose={onClose} onDone={onDone}>
      <p class="big">
        {rule.paused
          ? "Its jobs start again at once, in all processes, as its limits allow."
          : "None of its jobs start any more, in any process, until it is resumed."}
      </p>
      {!rule.paused && (
        <p>What runs goes on to its end, and new jobs can still be added: they wait with the others.</p>
      )}
    </ConfirmPanel>
  );
};
