import assert from "node:assert/strict";

/** Notices what must not happen whatever a caller passes: a builtin changed, or a rejection that nobody handles. */
export interface GlobalWatch {
  start(): void;
  stop(): void;
  /** Throws if something has happened since `start`. */
  check(): void;
}

const builtins: readonly object[] = [
  Object,
  Function,
  Array,
  String,
  Number,
  Boolean,
  Symbol,
  BigInt,
  Promise,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Date,
  RegExp,
  Error,
  TypeError,
  ArrayBuffer,
  Uint8Array,
  AbortSignal,
  AbortController,
  Proxy,
  JSON,
  Math,
  Reflect,
  globalThis,
].flatMap((builtin) => [builtin, (builtin as { prototype?: object }).prototype ?? builtin]);

const describeAll = (): Map<object, PropertyDescriptorMap> =>
  new Map(builtins.map((builtin) => [builtin, Object.getOwnPropertyDescriptors(builtin)]));

const assertSame = (before: PropertyDescriptorMap, after: PropertyDescriptorMap): void => {
  assert.deepEqual(Reflect.ownKeys(after).map(String), Reflect.ownKeys(before).map(String));
  for (const key of Reflect.ownKeys(before)) {
    const was = Reflect.get(before, key);
    const is = Reflect.get(after, key);
    const same = Object.is(was.value, is.value) && was.get === is.get && was.set === is.set;
    assert.ok(same, `a builtin's ${String(key)} was replaced`);
  }
};

export const watchGlobals = (): GlobalWatch => {
  let before = new Map<object, PropertyDescriptorMap>();
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => {
    unhandled.push(reason);
  };
  return {
    start: () => {
      before = describeAll();
      process.on("unhandledRejection", onUnhandled);
    },
    stop: () => {
      process.off("unhandledRejection", onUnhandled);
    },
    check: () => {
      assert.deepEqual(unhandled, [], "rejections that nobody handled");
      for (const [builtin, after] of describeAll()) assertSame(before.get(builtin)!, after);
    },
  };
};
