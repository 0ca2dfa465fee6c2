import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export const Card = ({
  title,
  note,
  side,
  class: className = "",
  flush = false,
  children,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly side?: ComponentChildren;
  readonly class?: string;
  /** Its content reaches the edges, as tables do. */
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}) => {
  const id = useId();
  return (
    <section class={`card ${className}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="small dim">{note}</span>}
        {side !== undefined && <span class="side">{side}</span>}
      </header>
      {flush ? children : <div class="body">{children}</div>}
    </section>
  );
};

/** Wide tables scroll by themselves, with the keyboard too. */
export const Scroll = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) => (
  <div class="scroll" tabIndex={0} role="group" aria-label={label}>
    {children}
  </div>
);
