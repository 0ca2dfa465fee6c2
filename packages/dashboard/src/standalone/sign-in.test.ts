import { describe, expect, it } from "vitest";
import { createSignIn, type SignInOptions } from "./sign-in.ts";

const users = [
  { name: "ada", token: "the-token-of-ada-lovelace", can: ["read", "redrive"] },
  { name: "bob", token: "the-token-of-bob-the-builder", can: ["read"] },
] as const;

const open = (options: Partial<SignInOptions> = {}) => {
  let time = 1_000_000;
  const printed: string[] = [];
  const signIn = createSignIn({
    users,
    basePath: "/ops",
    mountPath: "/ops",
    cookieName: () => "session",
    sessionMs: 60_000,
    onNewToken: (token) => printed.push(token),
    now: () => time,
    ...options,
  });
  const request = (path: string, init: RequestInit = {}): Request =>
    new Request(`http://localhost/ops${path}`, init);
  const enter = (token: string, headers: Record<string, string> = {}): Promise<Response | undefined> =>
    signIn.answer(request("/sign-in", { method: "POST", headers, body: new URLSearchParams({ token }) }));
  const cookieOf = (response: Response | undefined): string =>
    response!.headers.get("set-cookie")!.split(";")[0]!;
  const who = (cookie: string): unknown => signIn.authorize(request("/", { headers: { cookie } }));
  const leave = (cookie: string): Promise<Response | undefined> =>
    signIn.answer(request("/sign-out", { method: "POST", headers: { cookie } }));
  const visit = (token: string | undefined): Promise<Response | undefined> =>
    signIn.answer(request(`/?token=${token}`));
  return { signIn, enter, visit, cookieOf, who, leave, printed, pass: (ms: number) => (time += ms) };
};

describe("signing in", () => {
  it("gives each user a session of their own, with their rights", async () => {
    const { enter, visit, cookieOf, who, signIn } = open();
    expect(signIn.token()).toBeUndefined(); // no address with a token: whose would it be?
    const ada = await enter(users[0].token);
    expect([ada!.status, ada!.headers.get("location")]).toEqual([303, "/ops/"]);
    expect(ada!.headers.get("set-cookie")).toMatch(/; Max-Age=60; HttpOnly; SameSite=Strict; Path=\/ops$/);
    expect(who(cookieOf(ada))).toEqual({ user: "ada", can: ["read", "redrive"] });
    expect(who(cookieOf(await visit(users[1].token)))).toEqual({ user: "bob", can: ["read"] });
    expect(cookieOf(ada)).not.toContain(users[0].token);
  });

  it("knows a program by the token that it sends", () => {
    const ask = (token: string, options: Partial<SignInOptions> = {}): unknown => {
      const { signIn } = open(options);
      const sent = token === "its own" ? signIn.token()! : token;
      const headers = { authorization: `Bearer ${sent}` };
      return signIn.authorize(new Request("http://localhost/ops/api/v1/start", { headers }));
    };
    expect(ask(users[1].token)).toEqual({ user: "bob", can: ["read"] });
    expect(ask("some-other-token-of-a-stranger")).toBeNull();
    // A token that works once would not be used up.
    expect(ask("its own", { users: undefined })).toBeNull();
  });

  it("refuses another token, and a form of another site", async () => {
    const { enter } = open();
    const wrong = await enter("some-other-token-of-a-stranger");
    expect([wrong!.status, wrong!.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await wrong!.text()).not.toContain("stranger");
    await expect(enter(users[0].token, { "sec-fetch-site": "cross-site" })).rejects.toMatchObject({
      status: 403,
    });
  });

  it("does not take a cookie that was changed: another user, a later end", async () => {
    const { enter, cookieOf, who } = open();
    const cookie = cookieOf(await enter(users[1].token));
    expect(who(cookie)).not.toBeNull();
    expect(who(cookie.replace("bob", "ada"))).toBeNull();
    expect(who(cookie.replace(":1060000:", ":9060000:"))).toBeNull();
    expect(who(`${cookie}x`)).toBeNull();
    expect(who("session=")).toBeNull();
  });

  it("says that the connection is secure where a proxy speaks TLS", async () => {
    const { enter } = open();
    const response = await enter(users[0].token, { "x-forwarded-proto": "https" });
    expect(response!.headers.get("set-cookie")).toContain("; Secure");
  });
});

describe("a session", () => {
  it("ends by its time", async () => {
    const { enter, cookieOf, who, pass } = open();
    const cookie = cookieOf(await enter(users[0].token));
    pass(59_999);
    expect(who(cookie)).not.toBeNull();
    pass(1);
    expect(who(cookie)).toBeNull();
  });

  it("ends when its user signs out, for every copy of the cookie, and no other one does", async () => {
    const { enter, cookieOf, who, leave } = open();
    const [first, second] = [cookieOf(await enter(users[0].token)), cookieOf(await enter(users[0].token))];
    const left = await leave(first);
    expect([left!.status, left!.headers.get("set-cookie")]).toEqual([
      204,
      expect.stringContaining("Max-Age=0"),
    ]);
    expect(who(first)).toBeNull();
    expect(who(second)).not.toBeNull();
  });

  it("ends when the token of its user is replaced, and outlasts a restart", async () => {
    const cookie = await open().enter(users[0].token);
    expect(open().who(open().cookieOf(cookie))).not.toBeNull();
    const replaced = [{ ...users[0], token: "a-new-token-for-ada-lovelace" }, users[1]];
    expect(open({ users: replaced }).who(open().cookieOf(cookie))).toBeNull();
  });
});

describe("a token that works once", () => {
  it("is followed by another one when its session was signed out or has ended", async () => {
    const { signIn, visit, cookieOf, who, leave, printed, pass } = open({ users: undefined });
    const cookie = cookieOf(await visit(signIn.token()));
    expect((await visit(signIn.token()))!.status).toBe(401);
    await leave(cookie);
    expect(printed).toEqual([signIn.token()]);
    const next = cookieOf(await visit(signIn.token()));
    expect([who(cookie), who(next)]).toEqual([null, expect.objectContaining({ user: "operator" })]);
    signIn.refuse();
    expect(printed).toHaveLength(1);
    pass(60_000);
    expect(signIn.refuse().status).toBe(401);
    expect(printed).toHaveLength(2);
    expect((await visit(signIn.token()))!.status).toBe(303);
  });

  it("cannot be typed into the form", async () => {
    const { signIn, enter } = open({ users: undefined });
    expect((await enter(signIn.token()!))!.status).toBe(401);
    expect(await signIn.refuse().text()).not.toContain("<form");
  });
});
