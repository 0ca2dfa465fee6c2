import type { Answer } from "../http/fields.ts";
import { get } from "../routes/route.ts";
import type { Status } from "./jobs.ts";
import type { Session } from "./numbers.ts";
import { boolean, date, nullable, objectSchema, status, text, wordOf } from "./schemas.ts";

declare const answer: Answer<Session>;

const route = { path: "session", needs: "read", summary: "", answer } as const;

// @ts-expect-error An answer that lacks something that the page reads does not compile.
get({ ...route, handle: async () => ({ user: "ada" }) });
// @ts-expect-error Neither does one of another type.
get({ ...route, handle: async () => "ada" });

interface Mail {
  readonly to: string;
  readonly sentAt: string | null;
  readonly status: Status;
  readonly isRead?: boolean;
}

const mail = { to: text, sentAt: nullable(date), status };

objectSchema<Mail>(mail, { isRead: boolean });
// @ts-expect-error A schema that lacks a property of its type does not compile.
objectSchema<Mail>({ to: text, sentAt: nullable(date) }, { isRead: boolean });
// @ts-expect-error Neither does one without an optional property,
objectSchema<Mail>(mail);
// @ts-expect-error with one that the type does not have,
objectSchema<Mail>({ ...mail, size: text }, { isRead: boolean });
// @ts-expect-error that forbids what the type allows,
objectSchema<Mail>({ ...mail, sentAt: date }, { isRead: boolean });
// @ts-expect-error or that allows what the type forbids,
objectSchema<Mail>({ ...mail, to: nullable(text) }, { isRead: boolean });
// @ts-expect-error such as words that are not among its own.
objectSchema<Mail>({ ...mail, status: wordOf("pending", "lost") }, { isRead: boolean });
// @ts-expect-error One that nobody gave a type fits none.
objectSchema<Mail>({ ...mail, to: { type: "string" } }, { isRead: boolean });
