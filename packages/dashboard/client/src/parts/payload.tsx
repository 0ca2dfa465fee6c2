import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Hidden, StoredError } from "../../../src/answers/jobs.ts";
import { plural } from "../state/format.ts";

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

/** A text that the server may have hidden. */
export const showText = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && isHidden(value)) return `(hidden: ${value.$hidden})`;
  return value === undefined || value === null ? "" : JSON.stringify(value);
};

const isLibrary = (frame: string): boolean => /node_modules|\(?node:|<anonymous>$/.test(frame);

/** The frames of a stack, without the message that comes before them. */
const framesOf = (stack: unknown): string[] =>
  typeof stack === "string"
    ? stack
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line.startsWith("at "))
    : [];

const Frames = ({ frames }: { readonly frames: readonly string[] }) => {
  const [isAll, setIsAll] = useState(false);
  const own = frames.filter((frame) => !isLibrary(frame));
  const rest = frames.length - own.length;
  const shown = isAll || own.length === 0 ? frames : own;
  return (
    <>
      <pre class="frames" tabIndex={0} role="group" aria-label="Stack">
        {shown.map((frame, index) => (
          <span key={index} class={isLibrary(frame) ? "" : "own"}>
            {frame + "\n"}
          </span>
        ))}
      </pre>
      {rest > 0 && own.length > 0 && (
        <button
          type="button"
          class="button quiet small"
          aria-expanded={isAll}
          onClick={() => setIsAll(!isAll)}
        >
          {isAll ? "Only your own frames" : `Show ${plural(rest, "frame")} of libraries`}
        </button>
      )}
    </>
  );
};

/** An error with its causes; frames of the application before those of libraries. */
export const ErrorView = ({ error }: { readonly error: StoredError }) => {
  const frames = framesOf(error.stack);
  return (
    <div class="error">
      <p class="message">
        <b>{showText(error.name)}</b>
        {error.code !== undefined && ` [${showText(error.code)}]`}: {showText(error.message)}
      </p>
      {frames.length > 0 && <Frames frames={frames} />}
      {error.cause !== undefined && (
        <div class="cause">
          <span class="small dim">caused by</span>
          <ErrorView error={error.cause} />
        </div>
      )}
    </div>
  );
};
