import type { Dashboard } from "@leasehold/dashboard";
import { createConfirmations } from "./confirmations.ts";
import type { Call, Tool } from "./tools.ts";

/** What a tool answers, as the protocol has it. */
export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string }[];
  readonly isError?: boolean;
}

export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" } & Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, boolean>>;
}

export interface ToolServer {
  list(): ToolDescription[];
  call(name: string, given: Readonly<Record<string, unknown>>): Promise<ToolResult>;
}

/** An answer of the API that is an error. Its texts are written for people. */
class RefusedError extends Error {}

/** Asks the dashboard, so that rights, redaction, plans and the log of actions are the same as there. */
const createCall =
  ({ fetch }: Pick<Dashboard, "fetch">): Call =>
  async ({ path, body }) => {
    const init = body && {
      method: "POST",
      headers: { "content-type": "application/json", "x-leasehold": "1" },
      body: JSON.stringify(body),
    };
    const response = await fetch(new Request(`http://localhost/api/v1/${path}`, init));
    const answer = (await response.json()) as { error?: { message: string; hint?: string } };
    if (response.ok) return answer;
    const { message = "The store did not answer.", hint = "" } = answer.error ?? {};
    throw new RefusedError(`${message} ${hint}`.trim());
  };

const confirmField = {
  type: "string",
  description: "the confirmation of a plan that this tool has answered; leave it out to get a plan",
};

const confirmation =
  " Answers with a plan and a confirmation first, and changes nothing. Show the plan to the user; call again with `confirm` alone to do it.";

const describe = ({
  name,
  title,
  description,
  properties,
  required = [],
  run,
  isDestructive,
}: Tool): ToolDescription => {
  const acts = run !== undefined;
  return {
    name,
    title,
    description: description + (acts ? confirmation : ""),
    inputSchema: {
      type: "object",
      properties: acts ? { ...properties, confirm: confirmField } : properties,
      required,
      additionalProperties: false,
    },
    annotations: {
      readOnlyHint: !acts,
      destructiveHint: acts && isDestructive === true,
      idempotentHint: !acts,
      openWorldHint: false,
    },
  };
};

const result = (value: unknown): ToolResult => ({ content: [{ type: "text", text: JSON.stringify(value) }] });

const refusal = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: true });

/** The tools over a dashboard. */
export const createToolServer = (dashboard: Pick<Dashboard, "fetch">, tools: readonly Tool[]): ToolServer => {
  const call = createCall(dashboard);
  const confirmations = createConfirmations<unknown>();

  const act = async (
    tool: Tool,
    { confirm, ...given }: Readonly<Record<string, unknown>>,
  ): Promise<ToolResult> => {
    if (confirm === undefined) {
      const plan = await tool.answer(call, given);
      return result({ plan, confirm: confirmations.issue({ tool: tool.name, given, plan }) });
    }
    if (Object.keys(given).length > 0)
      return refusal("Pass `confirm` alone: it stands for the plan with all that was asked for.");
    const planned = confirmations.take(confirm, tool.name);
    if (planned === undefined)
      return refusal(
        "This confirmation is not known, was used, or is older than five minutes. Make a new plan.",
      );
    return result(await tool.run!(call, planned.given, planned.plan));
  };

  return {
    list: () => tools.map(describe),
    call: async (name, given) => {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined)
        return refusal(`There is no tool ${name}. There are ${tools.map((one) => one.name).join(", ")}.`);
      const known = new Set([...Object.keys(tool.properties), ...(tool.run ? ["confirm"] : [])]);
      const unknown = Object.keys(given).find((key) => !known.has(key));
      // A misspelt filter would choose more than was meant.
      if (unknown !== undefined)
        return refusal(`"${unknown}" is not known here. Known are ${[...known].join(", ")}.`);
      try {
        return await (tool.run === undefined ? tool.answer(call, given).then(result) : act(tool, given));
      } catch (error) {
        if (error instanceof RefusedError) return refusal(error.message);
        throw error;
      }
    },
  };
};
