import { useState } from "preact/hooks";
import type { StoredError } from "../answers.ts";
import { plural } from "../format.ts";
import { showText } from "./payload-view.tsx";

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

/** An error with its causes; one's own code before that of libraries. */
export const ErrorView = ({ error }: { readonly error: StoredError }) => {
  const frames = framesOf(error.stack);
  return (
    <div class="error">
      <p class="message">
        <b>{error.name}</b>
        {error.code !== undefined && ` [${error.code}]`}: {showText(error.message)}
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
