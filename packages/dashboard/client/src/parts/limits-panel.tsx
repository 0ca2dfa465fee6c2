import { useState } from "preact/hooks";
import type { FlowLimits, FlowRule } from "../answers.ts";
import { plural } from "../format.ts";
import { ConfirmPanel } from "./confirm-panel.tsx";
import { describeLimits } from "./describe-limits.ts";
import { areValid, LimitFields, toLimits, toTyped } from "./limit-fields.tsx";
import { nameOf, scopeOf } from "./pause-panel.tsx";

const inWords = (limits: FlowLimits | null): string => {
  const words = describeLimits(limits);
  return words === "–" ? "no limit" : words;
};

const describeChange = (from: FlowLimits | null, to: FlowLimits): string =>
  inWords(from) === inWords(to) ? `${inWords(to)}, as before` : `${inWords(to)}, instead of ${inWords(from)}`;

/** Changes the limits of a queue or type, and those of each of its groups. */
export const LimitsPanel = ({
  rule,
  onClose,
  onDone,
}: {
  readonly rule: FlowRule;
  onClose(): void;
  onDone(): void;
}) => {
  const [all, setAll] = useState(toTyped(rule));
  const [group, setGroup] = useState(toTyped(rule.perGroup));
  // Somebody else may change them while they are being typed in. Then the server refuses.
  const [expectedVersion] = useState(rule.version);
  const limits = toLimits(all, rule);
  const perGroup = toLimits(group, rule.perGroup);
  const isReady = areValid(all) && areValid(group);
  const name = nameOf(rule);
  const deed = {
    title: `Limit ${name}`,
    path: "flow/set",
    body: {
      ...scopeOf(rule),
      ...limits,
      perGroup: perGroup.concurrency === null && perGroup.rate === null ? null : perGroup,
      expectedVersion,
    },
    done: `Limits of ${name}: ${inWords(limits)}.`,
  };
  return (
    <ConfirmPanel deed={deed} isReady={isReady} onClose={onClose} onDone={onDone}>
      <LimitFields legend="All its jobs together" typed={all} onChange={setAll} />
      <LimitFields legend="The jobs of each group" typed={group} onChange={setGroup} />
      {isReady ? (
        <ul class="notes">
          <li>All together: {describeChange(rule, limits)}.</li>
          <li>Each group: {describeChange(rule.perGroup, perGroup)}.</li>
          {limits.concurrency !== null && rule.running > limits.concurrency && (
            <li class="warn">
              {plural(rule.running, "job")} run now. They go on, and no more start until fewer than{" "}
              {limits.concurrency} are left.
            </li>
          )}
        </ul>
      ) : (
        <p class="bad">A limit is a whole number of at least 1. To start nothing, pause it instead.</p>
      )}
      <p class="small">It takes effect at once, for all workers together, and interrupts nothing.</p>
    </ConfirmPanel>
  );
};
