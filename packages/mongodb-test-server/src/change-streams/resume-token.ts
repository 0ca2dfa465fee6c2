import { CommandError } from "../errors.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Tick } from "../storage/ticks.ts";

/** A place in the log of changes; `position` beyond all changes of the tick for a token that belongs to none. */
export interface LogPlace {
  readonly tick: Tick;
  readonly position: number;
}

export const behindAll = 0xffffffff;

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0").toUpperCase();

/** Tokens compare like the places they stand for. */
export const tokenOf = ({ tick, position }: LogPlace): Document => ({
  _data: `82${hex(tick, 16)}${hex(position, 8)}04`,
});

export const parseToken = (token: Value): LogPlace => {
  const data = isDocument(token) ? token["_data"] : undefined;
  const match = typeof data === "string" ? /^82([0-9A-F]{16})([0-9A-F]{8})04$/.exec(data) : null;
  if (match === null)
    throw new CommandError("InvalidResumeToken", "the resume token was not made by this server");
  return { tick: Number.parseInt(match[1] ?? "", 16), position: Number.parseInt(match[2] ?? "", 16) };
};
