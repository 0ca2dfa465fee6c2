/**
 * What a person may do:
 *
 * - `read`: see everything but payloads;
 * - `payloads`: see inputs, outputs, progress and error messages;
 * - `redrive`, `cancel`, `delete`: each for itself;
 * - `update`: run waiting jobs now, reschedule them, change their priority;
 * - `flow`: pause and resume, change limits, and look after recurring jobs.
 */
export const rights = ["read", "payloads", "redrive", "cancel", "delete", "update", "flow"] as const;

export type Right = (typeof rights)[number];

/** Who asks, and what they may do. */
export interface Viewer {
  readonly user: string;
  readonly can: ReadonlySet<Right>;
}

/** What `authorize` returns: who it is and what they may do; `true` for somebody who may only read; a false value for nobody. */
export type Authorization =
  | { readonly user: string; readonly can: readonly Right[] }
  | boolean
  | null
  | undefined;

export type Authorize = (request: Request) => Authorization | Promise<Authorization>;

const readingRights: ReadonlySet<Right> = new Set(["read", "payloads"]);

/** Nobody for anything that is not clearly an authorization. */
export const toViewer = (authorization: unknown, readOnly: boolean): Viewer | undefined => {
  if (authorization === true) return { user: "anonymous", can: new Set(["read"]) };
  if (typeof authorization !== "object" || authorization === null) return undefined;
  const { user, can } = authorization as { user?: unknown; can?: unknown };
  if (typeof user !== "string" || user === "" || !Array.isArray(can)) return undefined;
  const granted = rights.filter((right) => can.includes(right) && (!readOnly || readingRights.has(right)));
  return { user, can: new Set(granted) };
};
