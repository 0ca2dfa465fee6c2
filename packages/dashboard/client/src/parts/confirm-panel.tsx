import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { act, type ApiError } from "../state/api.ts";
import { announce } from "../state/settings.ts";
import { Problem } from "./notice.tsx";
import { SidePanel } from "./side-panel.tsx";

/** Something that is done at once, and to no single job. */
export interface Deed {
  /** On the button, and as the heading: "Pause queue mail". */
  readonly title: string;
  readonly path: string;
  readonly body?: object;
  /** Read out when it is done. */
  readonly done: string;
}

/** Says what is going to happen, before it does. */
export const ConfirmPanel = ({
  deed,
  isReady = true,
  onClose,
  onDone,
  children,
}: {
  readonly deed: Deed;
  readonly isReady?: boolean;
  onClose(): void;
  onDone(): void;
  readonly children: ComponentChildren;
}) => {
  const [problem, setProblem] = useState<ApiError>();
  const [isBusy, setIsBusy] = useState(false);
  const run = async (): Promise<void> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await act(deed.path, deed.body);
      announce(deed.done);
      onDone();
      onClose();
    } catch (error) {
      setProblem(error as ApiError);
      setIsBusy(false);
    }
  };
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
