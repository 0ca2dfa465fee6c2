import { randomBytes } from "node:crypto";

export interface Planned<TPlan> {
  readonly tool: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly plan: TPlan;
}

export interface Confirmations<TPlan> {
  /** A token that runs exactly this plan, once. */
  issue(planned: Planned<TPlan>): string;
  /** The plan of a token; undefined if it is too old, was used, or is of another tool. */
  take(token: unknown, tool: string): Planned<TPlan> | undefined;
}

/** As long as a plan of the dashboard is good for. */
const longestMs = 5 * 60_000;

const mostOpen = 1_000;

export const createConfirmations = <TPlan>(now: () => number = Date.now): Confirmations<TPlan> => {
  const open = new Map<string, { readonly planned: Planned<TPlan>; readonly endsAt: number }>();
  return {
    issue: (planned) => {
      const token = randomBytes(12).toString("base64url");
      open.set(token, { planned, endsAt: now() + longestMs });
      const [oldest] = open.keys();
      if (open.size > mostOpen) open.delete(oldest!);
      return token;
    },
    take: (token, tool) => {
      const found = typeof token === "string" ? open.get(token) : undefined;
      if (found === undefined || found.planned.tool !== tool) return undefined;
      open.delete(token as string);
      return found.endsAt > now() ? found.planned : undefined;
    },
  };
};
