import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createFolder, type RunningCli } from "../testing/run-cli.ts";

const bin = createFolder();
// Stands for the program that opens a browser.
const opener = bin.write("xdg-open", `#!/bin/sh\necho "$1" > "${join(bin.path, "opened")}"\n`);
chmodSync(opener, 0o755);
const folder = createFolder({ PATH: `${bin.path}:${process.env["PATH"]}` });

let running: RunningCli | undefined;

beforeAll(async () => {
  for (const name of ["jobs", "staging"]) await folder.run("migrate", "--store", `sqlite:./${name}.db`);
});

afterEach(async () => {
  running?.kill("SIGINT");
  await running?.ended;
  running = undefined;
});

afterAll(() => {
  folder.remove();
  bin.remove();
});

const writeTokens = (text: string, mode: number): string => {
  const file = folder.write("tokens", text);
  chmodSync(file, mode);
  return file;
};

const start = async (...args: string[]): Promise<URL> => {
  running = folder.start(["dashboard", "--port", "0", ...args]);
  const output = await running.waitFor("Ctrl-C ends it.");
  return new URL(/http:\S+/.exec(output)![0]);
};

const store = ["--store", "sqlite:./jobs.db"];

const session = async (url: URL, headers: Record<string, string> = {}) => {
  const response = await fetch(new URL("api/v1/session", url), { headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const signIn = async (url: URL): Promise<{ cookie: string }> => {
  const response = await fetch(url, { redirect: "manual" });
  return { cookie: response.headers.get("set-cookie")!.split(";")[0]! };
};

describe("leasehold dashboard", () => {
  it("shows a label, behind a proxy that removes a path, and opens a browser", async () => {
    const args = [
      "--label",
      "production",
      "--tone",
      "danger",
      "--base-path",
      "/ops",
      "--mount-path",
      "/",
      "--open",
    ];
    const url = await start(...store, ...args);
    expect(url.pathname).toBe("/ops/");
    const inside = new URL(`/${url.search}`, url);
    const { body } = await session(inside, await signIn(inside));
    expect(body).toMatchObject({ environment: { label: "production", tone: "danger" } });
    const { readFile } = await import("node:fs/promises");
    const opened = (): Promise<string> => readFile(join(bin.path, "opened"), "utf8").catch(() => "");
    await expect.poll(opened).toBe(`${url.href}\n`);
  });

  it("signs in the users of a token file, each with their rights", async () => {
    const file = writeTokens("ada all token-of-ada-lovelace\nbob read token-of-bob-the-builder\n", 0o600);
    const url = await start(...store, "--token-file", file);
    expect(url.search).toBe("");
    const bob = await signIn(new URL("?token=token-of-bob-the-builder", url));
    expect((await session(url, bob)).body).toMatchObject({ user: "bob", can: ["read"] });
  });

  it("refuses a token file that others can read", async () => {
    const file = writeTokens("token-of-ada-lovelace\n", 0o644);
    const { code, stderr } = await folder.run("dashboard", ...store, "--token-file", file);
    expect([code, stderr]).toEqual([2, expect.stringContaining("chmod 600")]);
  });

  it("refuses a token file with a mistake, without repeating its tokens", async () => {
    const file = writeTokens("ada token-of-ada-lovelace\n", 0o600);
    const { code, stderr } = await folder.run("dashboard", ...store, "--token-file", file);
    expect([code, stderr]).toEqual([2, expect.stringContaining("line 1")]);
    expect(stderr).not.toContain("lovelace");
  });

  it("warns where anyone could send the header of the proxy", async () => {
    await start(...store, "--user-header", "x-user", "--host", "0.0.0.0");
    await running!.waitFor("so be any user");
    running!.kill("SIGINT");
    await running!.ended;
    await start(...store, "--user-header", "x-user", "--allowed-host", "ops.example.com");
    running!.kill("SIGINT");
    expect((await running!.ended).stderr).not.toContain("so be any user");
  });

  it("refuses a tone without a label", async () => {
    const { code, stderr } = await folder.run("dashboard", ...store, "--tone", "danger");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--label")]);
  });
});

describe("with several stores in the config module", () => {
  beforeAll(() => {
    writeFileSync(
      join(folder.path, "leasehold.config.js"),
      `export default { stores: {
        production: { store: "sqlite:./jobs.db", tone: "danger" },
        staging: { store: "sqlite:./staging.db" },
      } };`,
    );
  });

  it("shows all of them, with a switch", async () => {
    await folder.run("start", "greet", "--store", "staging");
    const url = await start();
    const cookie = await signIn(url);
    const { body } = await session(new URL("/staging/", url), cookie);
    expect(body).toMatchObject({
      environment: { label: "staging", tone: "neutral" },
      stores: [
        { label: "production", tone: "danger", path: "/production" },
        { label: "staging", path: "/staging", isThis: true },
      ],
    });
    const list = async (path: string): Promise<unknown> =>
      (await fetch(new URL(`${path}/api/v1/jobs`, url), { headers: cookie })).json();
    expect(await list("/staging")).toMatchObject({ jobs: [{ typeName: "greet" }] });
    expect(await list("/production")).toMatchObject({ jobs: [] });
  });

  it("takes their names for --store, and asks for one", async () => {
    const url = await start("--store", "production");
    expect((await session(url, await signIn(url))).body).toMatchObject({ stores: [] });
    const { code, stderr } = await folder.run("list");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--store with one of production, staging")]);
  });
});
