import type { Schema } from "../server/fields.ts";

const string = { type: "string" };
const moment = { type: "string", format: "date-time" };
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const anything: Schema = {};

export const listOfSchema = (items: Schema): Schema => ({ type: "array", items });

export const objectSchema = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

export const count: Schema = { type: "integer", minimum: 0 };
export const text: Schema = string;
export const date: Schema = moment;
export const payload: Schema = anything;
export const nullable: (schema: Schema) => Schema = orNull;

export const errorSchema: Schema = {
  type: "object",
  properties: { name: string, message: anything, stack: anything, code: string, cause: anything },
  required: ["name", "message"],
};

/** A job in a list: all but its payloads. */
export const jobRow: Readonly<Record<string, Schema>> = {
  id: string,
  typeName: string,
  queue: string,
  status: { type: "string", enum: ["blocked", "pending", "running", "completed", "failed"] },
  sequenceId: string,
  sequenceTypeName: string,
  rootSequenceId: string,
  originId: orNull(string),
  priority: { type: "integer" },
  attempt: count,
  createdAt: moment,
  scheduledAt: moment,
  startedAt: orNull(moment),
  endedAt: orNull(moment),
  failureReason: orNull(string),
  error: orNull(errorSchema),
  leasedBy: orNull(string),
  group: orNull(string),
  deduplicationKey: orNull(string),
};
