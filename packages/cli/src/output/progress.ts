import { Presets, SingleBar } from "cli-progress";
import type { Output } from "./output.ts";

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
