import { ProcessMisuseError } from "../errors.ts";
import type { Handler, ProcessFunction } from "./worker-context.ts";

export type MiddlewareFunction = (context: object, next: () => Promise<unknown>) => unknown;

/**
 * Puts middleware around a process function, the first one outermost. One that does not call `next` short-circuits:
 * what it returns is the output. What any of them throws fails the attempt like an error of the process function.
 */
export const composeMiddleware = (
  middleware: readonly MiddlewareFunction[],
  process: ProcessFunction,
): Handler["run"] =>
  middleware.reduceRight<Handler["run"]>(
    (inner, layer) => (options) => {
      let called = false;
      return layer(options, async () => {
        if (called) throw new ProcessMisuseError("A middleware can call next only once");
        called = true;
        return inner(options);
      });
    },
    process,
  );
