import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { act, type ApiError } from "../state/api.ts";
import { announce } from "../state/settings.ts";
import { Problem } from "./card.tsx";
import { Icon } from "./icon.tsx";

/** A panel next to a list, for an action before it is done. Focus moves into it, and back when it closes. */
export const SidePanel = ({
  title,
  label,
  stage,
  tag,
  onClose,
  children,
}: {
  readonly title: string;
  readonly label: string;
  /** Focus returns to its heading when this changes: there is something else to read. */
  readonly stage?: string | undefined;
  readonly tag?: string | undefined;
  onClose(): void;
  readonly children: ComponentChildren;
}) => {
  const panel = useRef<HTMLElement>(null);

  useEffect(() => {
    const before = document.activeElement;
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  useEffect(() => panel.current?.querySelector<HTMLElement>("h2")?.focus(), [stage]);

  return (
    <aside
      class="card plan"
      aria-label={label}
      ref={panel}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header>
        <h2 tabIndex={-1}>{title}</h2>
        <span class="side row">
          {tag !== undefined && <span class="tag">{tag}</span>}
          <button type="button" class="button quiet square" aria-label="Close the plan" onClick={onClose}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      <div class="body stack">{children}</div>
    </aside>
  );
};

/** Something that is done at once, and to no single job. */
export interface ConfirmedAction {
  /** On the button, and as the heading: "Pause queue mail". */
  readonly title: string;
  readonly path: string;
  readonly body?: object;
  /** Read out when it is done. */
  readonly done: string;
}

/** Describes the change before it is made. */
export const ConfirmPanel = ({
  deed,
  isReady = true,
  onClose,
  onDone,
  after,
  children,
}: {
  readonly deed: ConfirmedAction;
  readonly isReady?: boolean;
  onClose(): void;
  onDone(answer: unknown): void;
  /** What to show when it is done; without it the panel closes. */
  readonly after?: (answer: unknown) => ComponentChildren;
  readonly children: ComponentChildren;
}) => {
  const [outcome, setOutcome] = useState<ComponentChildren>();
  const [problem, setProblem] = useState<ApiError>();
  const [isBusy, setIsBusy] = useState(false);
  const run = async (): Promise<void> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      const answer = await act(deed.path, deed.body);
      announce(deed.done);
      onDone(answer);
      if (after === undefined) onClose();
      else setOutcome(after(answer));
    } catch (error) {
      setProblem(error as ApiError);
      setIsBusy(false);
    }
  };
  if (outcome !== undefined)
    return (
      <SidePanel title={deed.title} label={deed.title} stage="done" onClose={onClose}>
        {outcome}
        <div class="row">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </SidePanel>
    );
  return (
    <SidePanel title={deed.title} label={deed.title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) void run();
        }}
      >
        {children}
        {problem !== undefined && <Problem error={problem} />}
        <div class="row">
          <button type="submit" class="button primary" disabled={isBusy || !isReady}>
            {deed.title}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Do nothing
          </button>
        </div>
        <p class="small dim">It is written to the log of actions, with your name.</p>
      </form>
    </SidePanel>
  );
};
