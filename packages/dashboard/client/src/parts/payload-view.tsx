import type { ComponentChildren } from "preact";
import type { Hidden } from "../answers.ts";

const isHidden = (value: object): value is Hidden =>
  Object.keys(value).length === 1 && typeof (value as Partial<Hidden>).$hidden === "string";

const mostShown = 200;
const longestText = 5_000;

const Text = ({ value }: { readonly value: string }) => (
  <>
    {JSON.stringify(value.slice(0, longestText))}
    {value.length > longestText && (
      <span class="hidden-value">{value.length - longestText} more characters</span>
    )}
  </>
);

const Indented = ({ depth, children }: { readonly depth: number; readonly children: ComponentChildren }) => (
  <>
    {"\n" + "  ".repeat(depth)}
    {children}
  </>
);

/** Stored values, as JSON, coloured. Text nodes only: nothing that is stored becomes markup. */
const Value = ({ value, depth }: { readonly value: unknown; readonly depth: number }) => {
  if (typeof value === "string")
    return (
      <span class="json-text">
        <Text value={value} />
      </span>
    );
  if (typeof value !== "object" || value === null) return <span class="json-plain">{String(value)}</span>;
  if (isHidden(value)) return <span class="hidden-value">hidden · {value.$hidden}</span>;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <>{open + close}</>;
  return (
    <>
      {open}
      {entries.slice(0, mostShown).map(([key, inner], index) => (
        <Indented key={key} depth={depth + 1}>
          {!isList && (
            <>
              <span class="json-key">
                <Text value={key} />
              </span>
              {": "}
            </>
          )}
          <Value value={inner} depth={depth + 1} />
          {index < entries.length - 1 && ","}
        </Indented>
      ))}
      {entries.length > mostShown && (
        <Indented depth={depth + 1}>
          <span class="hidden-value">{entries.length - mostShown} more</span>
        </Indented>
      )}
      <Indented depth={depth}>{close}</Indented>
    </>
  );
};

export const PayloadView = ({ value, label }: { readonly value: unknown; readonly label: string }) => (
  <pre class="json" tabIndex={0} aria-label={label} role="group">
    <Value value={value} depth={0} />
  </pre>
);

/** A text that the server may have kept to itself. */
export const showText = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && isHidden(value)) return `(hidden: ${value.$hidden})`;
  return value === undefined || value === null ? "" : JSON.stringify(value);
};
