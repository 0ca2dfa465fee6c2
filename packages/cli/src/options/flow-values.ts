import { InvalidArgumentError } from "commander";
import type { FlowRateOptions } from "leasehold";
import { parseDuration } from "./values.ts";

const wrongRate = "It must be a number and a time: 100/1m, or 100/1m/10 to let 10 come at once; or none.";

/** What the option takes, or `none`. Not null, which the parser takes for an option without a value. */
export const parseOrNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | "none" =>
    text.trim() === "none" ? "none" : parse(text);

export const parseRate: (text: string) => FlowRateOptions | "none" = parseOrNone((text) => {
  const match = /^(\d+)\/([^/]+)(?:\/(\d+))?$/.exec(text.trim());
  if (!match) throw new InvalidArgumentError(wrongRate);
  const [, limit, time, burst] = match;
  // "100/m" is as good as "100/1m".
  const perMs = parseDuration(/^\d/.test(time!) ? time! : `1${time!}`);
  return { limit: Number(limit), perMs, ...(burst === undefined ? {} : { burst: Number(burst) }) };
});

/** `group=2`, several times. The group may contain `=` itself. */
export const parseGroupWeight = (
  text: string,
  before: Readonly<Record<string, number>> = {},
): Record<string, number> => {
  const at = text.lastIndexOf("=");
  const weight = Number(text.slice(at + 1));
  if (at < 1 || !(weight > 0)) throw new InvalidArgumentError("It must be a group and a number: acme=2.");
  return { ...before, [text.slice(0, at)]: weight };
};
