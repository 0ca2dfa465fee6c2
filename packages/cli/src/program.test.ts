import type { Command } from "commander";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { complete } from "./completion/complete.ts";
import { exitCodes } from "./output/exit-codes.ts";
import { createProgram } from "./program.ts";
import { openTestStore } from "./testing/stores.ts";

const program = createProgram(() => async () => {});

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

describe("the command line", () => {
  it("explains every command and option", () => {
    for (const command of everyCommand(program)) {
      if (command.name().startsWith("__")) continue;
      expect(command.description(), command.name()).not.toBe("");
      for (const { flags, description } of command.options) {
        expect(description, `${command.name()} ${flags}`).not.toBe("");
      }
      expect(command.helpInformation()).toContain("--help");
    }
  });
});

describe("docs/cli.md", () => {
  const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

  it("mentions every command and option", () => {
    for (const command of everyCommand(program)) {
      if (command.name().startsWith("__")) continue;
      expect(page, command.name()).toContain(command.name());
      for (const { long } of command.options) expect(page, `${command.name()} ${long}`).toContain(long!);
    }
  });

  it("lists the checks of a healthy SQLite file, and no others for it", async () => {
    const rows = [...page.matchAll(/^\| ([a-z -]+?) +\| (all|by address|SQLite) +\|/gm)].map(
      ([, name]) => name,
    );
    const store = await openTestStore("sqlite");
    const { code, value } = await store.json("doctor");
    await store.close();
    expect(code).toBe(0);
    const checks = (value.findings as { check: string }[]).map(({ check }) => check);
    expect(new Set(checks)).toEqual(new Set(rows));
  });

  it("has every exit code", () => {
    for (const code of Object.values(exitCodes)) expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, "m"));
  });
});

describe("completion", () => {
  const values = (...words: string[]): string[] =>
    complete(program, words).candidates.map(({ value }) => value);

  it("offers commands, their subcommands and their options", () => {
    expect(values("in")).toEqual(["inspect"]);
    expect(values("failed", "")).toEqual(["list", "redrive", "delete"]);
    expect(values("failed", "redrive", "--dry")).toEqual(["--dry-run"]);
    expect(values("list", "--sto")).toEqual(["--store"]);
    expect(values("")).not.toContain("__complete");
  });

  it("offers values where there are only some, and nothing where anything goes", () => {
    expect(values("list", "--status", "")).toEqual(["blocked", "pending", "running", "completed", "failed"]);
    expect(values("list", "--status=fa")).toEqual(["--status=failed"]);
    expect(values("worker", "run", "--log-level", "w")).toEqual(["warn"]);
    expect(values("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(values("start", "mail", "--key", "")).toEqual([]);
  });

  it("does not take the value of an option for a command", () => {
    expect(values("--store", "list", "fail")).toEqual(["failed"]);
  });

  it.each([
    [["list", "--queue", ""], { kind: "queue" }],
    [["list", "-t", "se"], { kind: "type" }],
    [["list", "--type=se"], { kind: "type" }],
    [["start", ""], { kind: "type" }],
    [["enqueue", ""], { kind: "type" }],
    [["start", "mail", ""], undefined],
    [["inspect", ""], { kind: "id" }],
    [["cancel", "a", "b", ""], { kind: "id", status: ["blocked", "pending", "running"] }],
    [["failed", "redrive", ""], { kind: "id", status: ["failed"] }],
    [["recurring", "edit", ""], { kind: "recurring" }],
    [["list", "--recurring", ""], { kind: "recurring" }],
    [["list", ""], undefined],
  ])("knows what to ask the store for: %j", (words, wanted) => {
    expect(complete(program, words).wanted).toEqual(wanted);
  });

  it("offers paths for modules, and only for them", () => {
    expect(complete(program, ["worker", "run", ""]).files).toBe(true);
    expect(complete(program, ["list", "--config", ""]).files).toBe(true);
    expect(complete(program, ["inspect", ""]).files).toBe(false);
  });
});
