import type { Session } from "./answers.ts";
import { text } from "./routes/answers.ts";
import { describes, get } from "./server/route.ts";

const answer = describes<Session>(text);
const route = { path: "session", needs: "read", summary: "", answer } as const;

// @ts-expect-error An answer that lacks something that the page reads does not compile.
get({ ...route, handle: async () => ({ user: "ada" }) });
// @ts-expect-error Neither does one of another type.
get({ ...route, handle: async () => "ada" });
