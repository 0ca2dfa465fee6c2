/** Thrown by a function among the values when it is called: a caller's own error, which may well come back to the caller. */
export class ThrownByCallback extends Error {
  override readonly name = "ThrownByCallback";
}

const cyclicObject = (): object => {
  const outer: Record<string, unknown> = { list: [] };
  outer["self"] = outer;
  (outer["list"] as unknown[]).push(outer);
  return outer;
};

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
};

class Instance {
  readonly field = 1;
}

const megabyte = 2 ** 20;
const tooMany: readonly number[] = Array.from({ length: 100_001 }, () => 0);

/** One maker for each kind of value that is passed by accident. */
export const hostileValues: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -0,
  () => 2 ** 53,
  () => Number.MIN_VALUE,
  () => 10n ** 400n,
  () => Symbol("hostile"),
  () => "",
  () => "\0",
  () => "\ud800",
  () => "__proto__",
  () => "constructor",
  () => "x".repeat(2 * megabyte),
  () => new Date(Number.NaN),
  () => new Date(8_640_000_000_000_000),
  () => new Map([["key", cyclicObject()]]),
  () => new Uint8Array(megabyte),
  () => tooMany,
  () => Object.assign([], { length: 2 ** 31 }),
  () => nested(10_000),
  () => cyclicObject(),
  () =>
    JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    ) as unknown,
  () => Object.create({ polluted: true }) as unknown,
  () => Object.create(null) as unknown,
  () => new Instance(),
  () => new Proxy({}, {}),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile on purpose
  () => ({ then: (_resolve: unknown, reject: (error: unknown) => void) => reject(new ThrownByCallback()) }),
  () => () => undefined,
  () => async () => undefined,
  () => () => {
    throw new ThrownByCallback();
  },
  () => async () => {
    throw new ThrownByCallback();
  },
  () => Instance,
  () => Object.assign([], { 2: null }),
  () => new Error("a message", { cause: cyclicObject() }),
];
