import { createJobHandlerFactory, type Middleware } from "leasehold";
import type { AppLeasehold } from "./leasehold.ts";

// #region values
/** What the middleware of the worker passes to every handler. */
export interface Services {
  readonly services: { readonly mailer: { send(to: string, text: string): void } };
}

export const withServices =
  (services: Services["services"]): Middleware<Services> =>
  (_context, next) =>
    next({ services });
// #endregion

// #region factory
export const createJobHandler = createJobHandlerFactory<AppLeasehold, Services>();
// #endregion
