import { Presets, SingleBar } from "cli-progress";
import pc from "picocolors";
import type { Redact } from "./redact.ts";

export type Colours = ReturnType<typeof pc.createColors>;

/** Where a command writes: results to stdout, everything about them to stderr. */
export interface Output {
  /** One JSON document, or one per line for endless output, and nothing else on stdout. */
  readonly json: boolean;
  readonly colours: Colours;
  /** Stdout is a terminal that can be written over. */
  readonly isTerminal: boolean;
  /** Whether the user can be asked: both ends are terminals. */
  readonly isInteractive: boolean;
  readonly columns: number;
  /** A result for people. */
  print(text: string): void;
  /** A result for programs. */
  printJson(value: unknown): void;
  /** Takes passwords out of a text that did not come from jobs. Remarks and errors pass through it by themselves. */
  readonly redact: Redact;
  /** A remark for people; left out with `--json`. */
  note(text: string): void;
  /** A remark on something that may be a mistake; left out with `--json`. */
  warn(text: string, hint?: string): void;
  /** An error. */
  complain(text: string): void;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly redact: Redact;
  readonly env: Readonly<Record<string, string | undefined>>;
}

// Where there is no terminal there is no width to fit.
const fallbackColumns = 200;

export const createOutput = ({ json, redact, env }: OutputOptions): Output => {
  const isTerminal = process.stdout.isTTY && env["TERM"] !== "dumb";
  const colours = pc.createColors(pc.isColorSupported && (isTerminal || env["FORCE_COLOR"] !== undefined));
  const note = (text: string): void => {
    if (!json) process.stderr.write(`${redact(text)}\n`);
  };
  return {
    json,
    redact,
    colours,
    isTerminal,
    isInteractive: process.stdin.isTTY && process.stderr.isTTY && !json && env["CI"] === undefined,
    get columns() {
      return process.stdout.columns || fallbackColumns;
    },
    print: (text) => void process.stdout.write(`${text}\n`),
    printJson: (value) => void process.stdout.write(`${JSON.stringify(value)}\n`),
    note,
    warn: (text, hint) => {
      note(`${colours.yellow("warning")} ${text}`);
      if (hint !== undefined) note(`${colours.cyan("hint")}    ${hint}`);
    },
    complain: (text) => void process.stderr.write(`${redact(text)}\n`),
  };
};

export interface Progress {
  /** A new step begins its own bar. */
  update(step: string, done: number, total: number): void;
  end(): void;
}

/** A progress bar on a terminal, silence elsewhere. */
export const createProgress = ({ json }: Pick<Output, "json">): Progress => {
  if (json || !process.stderr.isTTY) return { update: () => {}, end: () => {} };
  let bar: SingleBar | undefined;
  let current: string | undefined;
  return {
    update: (step, done, total) => {
      if (step !== current) {
        bar?.stop();
        current = step;
        bar = new SingleBar(
          {
            format: "{step} {bar} {value}/{total} {duration_formatted}",
            stream: process.stderr,
            hideCursor: true,
          },
          Presets.shades_classic,
        );
        bar.start(total, 0, { step: step.padEnd(12) });
      }
      bar?.update(done);
    },
    end: () => bar?.stop(),
  };
};
