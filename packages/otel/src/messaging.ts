import type { Attributes } from "@opentelemetry/api";
import { createPairTable, type PairTable } from "./pair-table.ts";

const messagingSystem = "leasehold";

/** An operation of OpenTelemetry's messaging conventions: our name for it, and which of theirs it is. */
export interface Operation {
  readonly name: "start" | "continue" | "process" | "claim" | "commit";
  readonly type: "send" | "process" | "receive" | "settle";
}

export const operations: { readonly [TName in Operation["name"]]: Operation } = {
  start: { name: "start", type: "send" },
  continue: { name: "continue", type: "send" },
  process: { name: "process", type: "process" },
  claim: { name: "claim", type: "receive" },
  commit: { name: "commit", type: "settle" },
};

/** What the conventions want to be known when a span begins, for samplers. */
export const operationAttributes = ({ name, type }: Operation): Attributes => ({
  "messaging.system": messagingSystem,
  "messaging.operation.name": name,
  "messaging.operation.type": type,
});

/** The part of a queue that one handler serves: few enough of them to name spans by. */
export const destinationTemplate = (queue: string, typeName: string): string => `${queue}/${typeName}`;

export interface SpanDescription {
  readonly name: string;
  readonly template: string;
  readonly attributes: Attributes;
}

/** The parts of an operation's spans that are the same for every job of a queue and a type. */
export const createSpanDescriptions = (operation: Operation): PairTable<SpanDescription> =>
  createPairTable((queue, typeName) => {
    const template = destinationTemplate(queue, typeName);
    return {
      name: `${operation.name} ${template}`,
      template,
      attributes: { ...operationAttributes(operation), "messaging.destination.name": queue },
    };
  });
