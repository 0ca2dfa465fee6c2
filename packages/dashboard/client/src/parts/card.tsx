import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
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

const titleOf = (heading: HTMLElement): string =>
  heading.querySelector(".unseen") === null ? heading.innerText.trim() : "";

/** Wide tables scroll within the card, with the keyboard too. Where there is little room, each row is a card: its cells say what they are. */
export const Scroll = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) => {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const table of box.current?.querySelectorAll("table") ?? []) {
      const { tHead, tBodies } = table;
      table.role = "table";
      const titles = [...(tHead?.rows[0]?.cells ?? [])].map(titleOf);
      for (const row of tBodies[0]?.rows ?? []) {
        // Cards are no table to the browser, so rows and cells say that they are.
        row.role = "row";
        for (const [index, cell] of [...row.cells].entries()) {
          cell.role = "cell";
          cell.dataset["label"] = titles[index] ?? "";
        }
      }
    }
  });
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label} ref={box}>
      {children}
    </div>
  );
};

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
