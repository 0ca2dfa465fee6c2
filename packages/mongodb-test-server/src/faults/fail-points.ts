import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";

/** What a fail point does to one command. */
export interface FailPointHit {
  readonly data: Document;
  readonly errorCode: number | undefined;
  readonly closesConnection: boolean;
  readonly writeConcernError: Document | undefined;
  /** In place of the labels that would follow from the code. */
  readonly errorLabels: readonly string[] | undefined;
  readonly blockMs: number;
}

export interface FailPoints {
  configure(name: string, mode: Value, data: Value): void;
  /** Whether the fail point takes effect now; counts its `times` and `skip`. */
  hit(name: string, matches: (data: Document) => boolean): FailPointHit | undefined;
  clear(): void;
}

interface FailPoint {
  readonly data: Document;
  skip: number;
  times: number;
}

const known = new Set(["failCommand", "onPrimaryTransactionalWrite", "failGetMoreAfterCursorCheckout"]);

const parse = (mode: Value, data: Value): FailPoint | undefined => {
  if (mode === "off") return undefined;
  const limits = isDocument(mode) ? mode : {};
  const count = (value: Value, otherwise: number) => (isNumeric(value) ? toNumber(value) : otherwise);
  if (mode !== "alwaysOn" && !("times" in limits) && !("skip" in limits)) {
    throw new CommandError("BadValue", "the mode of a fail point is 'off', 'alwaysOn', times or skip");
  }
  return {
    data: isDocument(data) ? data : {},
    skip: count(limits["skip"], 0),
    times: count(limits["times"], Number.POSITIVE_INFINITY),
  };
};

const hitOf = (data: Document): FailPointHit => {
  const labels = data["errorLabels"];
  const code = data["errorCode"] ?? data["failBeforeCommitExceptionCode"];
  return {
    data,
    errorCode: isNumeric(code) ? toNumber(code) : undefined,
    closesConnection: data["closeConnection"] === true,
    writeConcernError: isDocument(data["writeConcernError"]) ? data["writeConcernError"] : undefined,
    errorLabels: Array.isArray(labels) ? labels.map(String) : undefined,
    blockMs: data["blockConnection"] === true ? toNumber(data["blockTimeMS"] ?? 0) : 0,
  };
};

export const createFailPoints = (): FailPoints => {
  const points = new Map<string, FailPoint>();
  return {
    configure: (name, mode, data) => {
      if (!known.has(name)) throw new CommandError("BadValue", `the fail point ${name} is not known`);
      const point = parse(mode, data);
      if (point === undefined) points.delete(name);
      else points.set(name, point);
    },
    hit: (name, matches) => {
      const point = points.get(name);
      if (point === undefined || !matches(point.data)) return undefined;
      if (point.skip > 0) {
        point.skip--;
        return undefined;
      }
      if (--point.times <= 0) points.delete(name);
      return hitOf(point.data);
    },
    clear: () => {
      points.clear();
    },
  };
};
