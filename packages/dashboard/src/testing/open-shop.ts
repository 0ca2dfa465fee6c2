import {
  createInProcessStateAdapter,
  createLeasehold,
  type DefineBlocker,
  defineUnionJobTypes,
  UnrecoverableJobError,
} from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { createDashboard, type Dashboard, type DashboardOptions } from "../create-dashboard.ts";
import type { Right } from "../http/rights.ts";

export interface ShopTypes {
  order: { input: { item: string; password?: string }; output: string };
  mail: { input: { to: string }; output: null };
  /** Waits for a mail. */
  reminder: { input: null; output: null; blockers: [DefineBlocker<"mail">] };
  /** Sends this many mails, in its own tree. */
  campaign: { input: { mails: number }; output: null };
}

/** A Leasehold with a worker's types, and a dashboard over it. */
export const openShop = async (
  can: readonly Right[] | null,
  options: Partial<DashboardOptions> = {},
  stateAdapter: AnyStateAdapter = createInProcessStateAdapter(),
) => {
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<ShopTypes>() });
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    authorize: () => (can === null ? null : { user: "grace", can }),
    ...options,
  });
  const startWorker = () =>
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "order",
        process: async ({ job }) => {
          if (job.input.item === "broken") throw new UnrecoverableJobError("out of stock");
          return "ordered";
        },
      })
      .implementJobType({ typeName: "mail", process: async () => null })
      .implementJobType({
        typeName: "campaign",
        process: async ({ job }) => {
          const mail = { typeName: "mail", input: { to: "ada" } } as const;
          await leasehold.startJobSequences({
            sequences: Array.from({ length: job.input.mails }, () => mail),
          });
          return null;
        },
      })
      .start({ pollIntervalMs: 20 });
  return { leasehold, dashboard, stateAdapter, startWorker, ...clientOf(dashboard, options.basePath ?? "") };
};

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
  readonly body: any;
  readonly headers: Headers;
}

export const postHeaders = { "content-type": "application/json", "x-leasehold": "1" };

export const clientOf = ({ fetch }: Dashboard, basePath: string) => {
  const ask = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(new Request(`http://localhost${basePath}/${path}`, init));
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
  return {
    ask,
    read: (path: string): Promise<Answer> => ask(`api/v1/${path}`),
    act: (path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> =>
      ask(`api/v1/${path}`, {
        method: "POST",
        headers: { ...postHeaders, ...headers },
        body: JSON.stringify(body),
      }),
  };
};
