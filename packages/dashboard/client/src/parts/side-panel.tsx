import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A panel beside a list, about what is going to be done. Focus goes into it, and back to where it was. */
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
