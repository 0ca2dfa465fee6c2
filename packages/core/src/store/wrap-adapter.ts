import { partNames } from "./parts.ts";

const parts: ReadonlySet<string> = new Set(partNames);

export type AnyMethod = (...args: unknown[]) => unknown;

const methodNames = (adapter: object): Set<string> => {
  const names = new Set<string>();
  for (
    let level: object | null = adapter;
    level && level !== Object.prototype;
    level = Object.getPrototypeOf(level)
  ) {
    for (const name of Object.getOwnPropertyNames(level)) if (name !== "constructor") names.add(name);
  }
  return names;
};

/**
 * An adapter whose methods, and those of its optional parts, pass through `wrap`; what is not a method is read from the original each time. Works on
 * object literals and on instances of classes, frozen or not, which neither a spread nor a Proxy would.
 */
export const wrapAdapter = <TAdapter extends object>(
  adapter: TAdapter,
  wrap: (method: string, original: AnyMethod) => AnyMethod,
): TAdapter => {
  const wrapped: Record<string, unknown> = {};
  const source = adapter as Record<string, unknown>;
  for (const name of methodNames(adapter)) {
    const original = source[name];
    if (typeof original === "function") {
      wrapped[name] = wrap(name, (...args) => (original as AnyMethod).apply(adapter, args));
    } else if (parts.has(name) && typeof original === "object" && original !== null) {
      wrapped[name] = wrapAdapter(original, wrap);
    } else {
      Object.defineProperty(wrapped, name, { configurable: true, enumerable: true, get: () => source[name] });
    }
  }
  return wrapped as TAdapter;
};
