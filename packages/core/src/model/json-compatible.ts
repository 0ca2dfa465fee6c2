/**
 * `T` itself where JSON can hold it; where it cannot, the offending part is replaced by a sentence that says why. So
 * `T extends JsonCompatible<T>` is the test, and the compiler's own elaboration names the path:
 * `Type 'Date' is not assignable to type '"a Date is not JSON: …"'`.
 *
 * Written as a mapped type rather than as a type that collects problems, because the compiler compares recursive types
 * (trees, JSON itself) lazily and without a depth limit, and because interfaces pass, which have no index signature.
 */
export type JsonCompatible<T> = unknown extends T
  ? T // `unknown` and `any`: the codec decides at run time
  : T extends string | number | boolean | null
    ? T
    : T extends readonly unknown[]
      ? JsonCompatibleArray<T>
      : T extends object
        ? JsonCompatibleObject<T>
        : T extends bigint
          ? "a bigint is not JSON: use a string"
          : T extends symbol
            ? "a symbol is not JSON"
            : "undefined is not JSON: use null, or an optional property";

// The compiler puts off `X[]` until it is looked into, but not a mapped array, which never ends for a recursive type.
type JsonCompatibleArray<T extends readonly unknown[]> = number extends T["length"]
  ? readonly JsonCompatible<T[number]>[]
  : { [I in keyof T]: JsonCompatible<T[I]> };

// oxlint-disable-next-line typescript/no-explicit-any -- the widest function type there is
type AnyFunction = (...args: any) => unknown;

type JsonCompatibleObject<T extends object> = T extends AnyFunction
  ? "a function is not JSON"
  : T extends Date
    ? "a Date is not JSON: use an ISO string or a number of milliseconds"
    : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
      ? "a Map or Set is not JSON: use an object or an array"
      : {
          // Symbol keys are the brands of schema libraries; nothing is stored under them. An undefined property is left
          // out when stored, and reads back the same.
          [K in keyof T]: K extends symbol
            ? T[K]
            : undefined extends T[K]
              ? JsonCompatibleOptional<T[K]>
              : JsonCompatible<T[K]>;
        };

type JsonCompatibleOptional<T> = unknown extends T ? T : JsonCompatible<Exclude<T, undefined>> | undefined;
