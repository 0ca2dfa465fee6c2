import type { StateAdapter } from "../store/contract/state-adapter.ts";
import type { InProcessStateAdapter } from "../memory/state-adapter.ts";
import type { InProcessContext } from "../memory/transactions.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";

const readKey = (value: unknown, key: string): unknown =>
  (value as Record<string, unknown> | undefined)?.[key];

/**
 * The in-process store with contexts of another kind. It has one transaction at a time, so a context that carries the
 * given values is that of the innermost one open.
 */
export const withContext = <TContext extends object>(
  adapter: InProcessStateAdapter,
  context: TContext,
): StateAdapter<TContext, TContext> => {
  const open: InProcessContext[] = [];
  const keys = Object.keys(context);

  const isOurs = (ctx: unknown): boolean =>
    keys.length > 0 && keys.every((key) => readKey(ctx, key) === readKey(context, key));

  /** Anything else is passed on as it is, and refused there. */
  const translate = (ctx: unknown): unknown => (isOurs(ctx) ? (open.at(-1) ?? ctx) : ctx);

  const wrap = (method: string, original: AnyMethod): AnyMethod => {
    if (method === "isInTransaction") return (ctx) => original(translate(ctx));
    if (method === "provideContext")
      return (callback) => original(() => (callback as (ctx: TContext) => unknown)({ ...context }));
    if (method === "runInTransaction")
      return (callback, parent, options) =>
        original(
          async (ctx: InProcessContext) => {
            open.push(ctx);
            try {
              return await (callback as (ctx: TContext) => Promise<unknown>)({ ...context });
            } finally {
              open.splice(open.indexOf(ctx), 1);
            }
          },
          parent === undefined ? undefined : translate(parent),
          options,
        );
    return (...args) => {
      const [call, ...rest] = args;
      const ctx = readKey(call, "ctx");
      return ctx === undefined
        ? original(...args)
        : original({ ...(call as object), ctx: translate(ctx) }, ...rest);
    };
  };
  const wrapped = wrapAdapter(adapter as object, wrap) as StateAdapter<TContext, TContext>;
  return Object.defineProperty(wrapped, "contextKeys", { value: keys });
};
