import type { Document } from "../bson-values/types.ts";

/** A command as a fault sees it. */
export interface ObservedCommand {
  readonly name: string;
  readonly database: string;
  /** As the driver sent it, with its number types. */
  readonly document: Document;
}

export type Fault =
  /** The connection is cut before the command does anything. */
  | { readonly kind: "cutBefore" }
  /** The command is carried out and its reply lost. */
  | { readonly kind: "cutAfter" }
  /** The command fails with this code before it does anything. */
  | {
      readonly kind: "error";
      readonly code: number;
      readonly message?: string;
      readonly labels?: readonly string[];
    }
  | { readonly kind: "delayBefore"; readonly ms: number }
  | { readonly kind: "delayAfter"; readonly ms: number }
  /** The primary steps down: before the command, or after it was carried out, whose reply is then lost. */
  | { readonly kind: "stepDownBefore" | "stepDownAfter"; readonly ms?: number };

export interface FaultRule {
  /** Names of commands; all of them without it. */
  readonly commands?: readonly string[];
  readonly matches?: (command: ObservedCommand) => boolean;
  /** So many matching commands are let through first. */
  readonly skip?: number;
  /** How often it strikes: once unless told otherwise. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface Faults {
  /** Returns a function that takes the rule back. */
  add(rule: FaultRule): () => void;
  clear(): void;
  /** How many rules have still to strike. */
  pending(): number;
  /** The fault for this command, if any; counts the rules that match. */
  strike(command: ObservedCommand): Fault | undefined;
}

/** Never struck: with them a driver finds out about the server and its sessions. */
const exempt = new Set(["hello", "isMaster", "ismaster", "configureFailPoint", "endSessions"]);

export const createFaults = (): Faults => {
  const rules = new Set<{ rule: FaultRule; skip: number; times: number }>();
  return {
    add: (rule) => {
      const entry = { rule, skip: rule.skip ?? 0, times: rule.times ?? 1 };
      rules.add(entry);
      return () => {
        rules.delete(entry);
      };
    },
    clear: () => {
      rules.clear();
    },
    pending: () => rules.size,
    strike: (command) => {
      for (const entry of rules) {
        const { commands, matches } = entry.rule;
        const isMeant = commands === undefined ? !exempt.has(command.name) : commands.includes(command.name);
        if (!isMeant || matches?.(command) === false) continue;
        if (entry.skip > 0) {
          entry.skip--;
          continue;
        }
        if (--entry.times <= 0) rules.delete(entry);
        return entry.rule.fault;
      }
      return undefined;
    },
  };
};
