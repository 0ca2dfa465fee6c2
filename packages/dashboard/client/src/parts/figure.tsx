import type { ComponentChildren } from "preact";
import { Link } from "./link.tsx";

/** A number, what it is of, and the way to what it was made of. */
export const Figure = ({
  label,
  value,
  unit,
  note,
  to,
  tone = "",
}: {
  readonly label: string;
  readonly value: string;
  readonly unit?: string;
  readonly note: ComponentChildren;
  readonly to?: string | undefined;
  readonly tone?: string;
}) => {
  const content = (
    <>
      <span class="small dim">{label}</span>
      <span class="value">
        {value}
        {unit !== undefined && <small>{unit}</small>}
      </span>
      <span class="small dim note">{note}</span>
    </>
  );
  return to === undefined ? (
    <div class={`figure ${tone}`}>{content}</div>
  ) : (
    <Link class={`figure ${tone}`} to={to}>
      {content}
    </Link>
  );
};
