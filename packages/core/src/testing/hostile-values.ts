/** Thrown by every trap, getter and method of a hostile value when it is touched. */
class Touched extends Error {
  override readonly name = "Touched";
}

/** Thrown by a hostile function when it is called: a caller's own error, which may well come back to the caller. */
export class ThrownByCallback extends Error {
  override readonly name = "ThrownByCallback";
}

const touch = (): never => {
  throw new Touched("touched");
};

const throwingProxy = (target: object): object =>
  new Proxy(target, {
    get: touch,
    has: touch,
    set: touch,
    ownKeys: touch,
    getPrototypeOf: touch,
    getOwnPropertyDescriptor: touch,
    defineProperty: touch,
    deleteProperty: touch,
  });

/** Every trap throws the proxy itself, so that whoever asks what was thrown catches the same thing again. */
const selfThrowingProxy = (target: object): object => {
  const throwSelf = (): never => {
    // oxlint-disable-next-line typescript/only-throw-error -- hostile on purpose
    throw proxy;
  };
  const traps = [
    "get",
    "has",
    "set",
    "ownKeys",
    "getPrototypeOf",
    "getOwnPropertyDescriptor",
    "defineProperty",
  ];
  const handler = Object.fromEntries(traps.map((trap) => [trap, throwSelf]));
  const proxy: object = new Proxy(target, { ...handler, apply: throwSelf, construct: throwSelf });
  return proxy;
};

const revokedProxy = (target: object): object => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};

const withGetter = (key: PropertyKey): object =>
  Object.defineProperty({}, key, { enumerable: true, get: touch });

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

/** Answers differently each time it is asked, to fool a check that reads twice. */
const fickle = (): object => {
  let times = 0;
  return Object.defineProperty({}, "id", {
    enumerable: true,
    get: () => ((times += 1) === 1 ? "id" : touch()),
  });
};

class Instance {
  readonly field = 1;
  get broken(): never {
    return touch();
  }
}

const megabyte = 2 ** 20;
const tooMany: readonly number[] = Array.from({ length: 100_001 }, () => 0);

/** One maker for each kind of value that nobody passes on purpose and somebody passes by accident or malice. */
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
  () => throwingProxy({}),
  () => throwingProxy([]),
  () => throwingProxy(() => undefined),
  () => selfThrowingProxy({}),
  () => selfThrowingProxy(() => undefined),
  () => selfThrowingProxy(new Error("hostile")),
  () => revokedProxy({}),
  () => revokedProxy([]),
  () => revokedProxy(() => undefined),
  () => withGetter("id"),
  () => withGetter("typeName"),
  () => withGetter("then"),
  () => withGetter("toJSON"),
  () => withGetter("message"),
  () => withGetter("key"),
  () => withGetter("~standard"),
  () => withGetter(Symbol.iterator),
  () => fickle(),
  () => ({ toString: touch, valueOf: touch, [Symbol.toPrimitive]: touch, toJSON: touch }),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile on purpose
  () => ({ then: touch }),
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
  () => () => throwingProxy({}),
  () => Instance,
  () => Object.assign(() => undefined, { "~standard": { version: 1, validate: touch } }),
  () => [withGetter("id")],
  () => Object.assign([], { 2: null }),
  () => Object.defineProperty([1], 0, { get: touch }),
  () => new Error("a message", { cause: cyclicObject() }),
];
