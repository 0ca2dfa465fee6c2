import { get } from "../routes/route.ts";
import type { Status } from "./jobs.ts";
import { session } from "./numbers.ts";
import { type AnswerOf, boolean, date, nullable, objectOf, text, wordOf } from "./schemas.ts";

const route = { path: "session", needs: "read", summary: "", answer: session } as const;

// @ts-expect-error An answer that lacks something that the page reads does not compile.
get({ ...route, handle: async () => ({ user: "ada" }) });
// @ts-expect-error Neither does one of another type.
get({ ...route, handle: async () => "ada" });

const mail = objectOf(
  { to: text, sentAt: nullable(date), status: wordOf("pending", "failed") },
  { isRead: boolean },
);

type Mail = AnswerOf<typeof mail>;

const sent: Mail = { to: "ada", sentAt: null, status: "pending" };
const status: Status = sent.status;
const read: Mail = { ...sent, status: "failed", isRead: true };
export const all: readonly unknown[] = [status, read];

// @ts-expect-error A property of the schema must be there,
const lacking: Mail = { to: "ada", sentAt: null };
// @ts-expect-error with its type,
const wrong: Mail = { ...sent, to: null };
// @ts-expect-error one of its words,
const unknownWord: Mail = { ...sent, status: "lost" };
// @ts-expect-error and no other property.
const surplus: Mail = { to: "ada", sentAt: null, status: "failed", size: 1 };
// @ts-expect-error A plain object is no schema.
const plain: AnswerOf<{ type: "string" }> = "ada";

export const refused: readonly unknown[] = [lacking, wrong, unknownWord, surplus, plain];
