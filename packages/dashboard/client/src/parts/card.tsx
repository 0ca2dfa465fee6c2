import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ApiError } from "../state/api.ts";
import { trouble } from "../state/session.ts";
import { Icon, type IconName } from "./icon.tsx";

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

/** Wide tables scroll within the card, with the keyboard too. */
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

/** What went wrong, and what to do. */
export const Problem = ({ error }: { readonly error: ApiError }) => {
  const isSaid = trouble.value !== undefined && trouble.value !== error && trouble.value.code === error.code;
  return isSaid ? null : (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <p>
        <b>{error.message}</b> {error.hint}
      </p>
    </div>
  );
};

/** Nothing here: why, and what to do next. */
export const Empty = ({
  icon = "calm",
  title,
  children,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) => (
  <div class="empty">
    <Icon name={icon} />
    <p class="strong">{title}</p>
    {children !== undefined && <p class="dim">{children}</p>}
  </div>
);

/** Visible only if an answer takes long. */
export const Skeleton = ({ rows = 6 }: { readonly rows?: number }) => (
  <div class="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => (
      <span key={index} />
    ))}
  </div>
);
