import { ProcessMisuseError } from "../errors.ts";
import { handled } from "./handed-out-calls.ts";
import type { Handler, HandlerFunction } from "./worker-context.ts";

const unfinishedNext =
  "A middleware ended while `next` was still running. Write `return next()`, or `await next()`";

export type MiddlewareFunction = (context: object, next: () => Promise<unknown>) => unknown;

/**
 * Puts middleware around a handler, the first one outermost. One that does not call `next` short-circuits:
 * what it returns is the output. What any of them throws fails the attempt like an error of the handler.
 */
export const composeMiddleware = (
  middleware: readonly MiddlewareFunction[],
  process: HandlerFunction,
): Handler["run"] =>
  middleware.reduceRight<Handler["run"]>(
    (inner, layer) => (options) => {
      let called = false;
      let open = false;
      const close = (): void => {
        open = false;
      };
      const runInner = async (): Promise<unknown> => {
        if (called) throw new ProcessMisuseError("A middleware can call next only once");
        called = true;
        return inner(options);
      };
      const next = (): Promise<unknown> => {
        const isFirst = !called;
        const running = handled(runInner());
        if (isFirst) {
          open = true;
          running.then(close, close);
        }
        return running;
      };
      return Promise.resolve(layer(options, next)).then((returned) => {
        // The result of the handler would be lost, and nobody would see its error.
        if (open) throw new ProcessMisuseError(unfinishedNext);
        return returned;
      });
    },
    process,
  );
