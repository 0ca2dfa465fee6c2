import type { AnyStateAdapter } from "leasehold/adapter";
import { createLogUpdate } from "log-update";
import pc from "picocolors";
import type { StatisticsSource } from "../store/counted-work.ts";
import { renderLine, renderLive } from "./render.ts";
import { createSampler, type LiveSample } from "./sampler.ts";

export interface LiveViewOptions {
  readonly stateAdapter: AnyStateAdapter;
  /** The Leasehold of this store. With it, rates and times are what processes have counted; otherwise those of a sample. */
  readonly leasehold?: StatisticsSource | undefined;
  readonly title: string;
  /** Only these queues. Default: all. */
  readonly queue?: readonly string[] | undefined;
  /** Default: stdout. */
  readonly stream?: NodeJS.WriteStream | undefined;
}

export interface LiveView {
  /** Looks at the store and shows what it found: in place on a terminal, as one more line elsewhere. */
  update(footer?: readonly string[]): Promise<LiveSample>;
  /** Leaves the last picture where it is. */
  end(): void;
}

const fallbackColumns = 120;
const fallbackRows = 40;

/** The live table of `leasehold top`, for a program of your own. */
export const createLiveView = async ({
  stateAdapter,
  leasehold,
  title,
  queue,
  stream = process.stdout,
}: LiveViewOptions): Promise<LiveView> => {
  const sample = createSampler({ stateAdapter, leasehold, queue });
  const rewritable = stream.isTTY && process.env["TERM"] !== "dumb";
  const draw = rewritable ? createLogUpdate(stream) : undefined;
  const colours = pc.createColors(rewritable && pc.isColorSupported);
  return {
    update: async (footer = []) => {
      const taken = await sample();
      if (draw === undefined) stream.write(`${renderLine(taken)}\n`);
      else {
        const screen = {
          colours,
          columns: stream.columns ?? fallbackColumns,
          rows: stream.rows ?? fallbackRows,
        };
        draw(renderLive(screen, taken, { title, footer }));
      }
      return taken;
    },
    end: () => draw?.done(),
  };
};
