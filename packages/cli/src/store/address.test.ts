import { describe, expect, it } from "vitest";
import { CliError } from "../output/exit-codes.ts";
import { createRedactor, redactUrls } from "../output/redact.ts";
import { labelOf, parseStoreAddress } from "./address.ts";

describe("store addresses", () => {
  it.each([
    ["sqlite:jobs.db", "jobs.db"],
    ["sqlite:./a b/jobs.db", "./a b/jobs.db"],
    ["sqlite:///var/jobs.db", "/var/jobs.db"],
    ["sqlite:/var/jobs.db", "/var/jobs.db"],
  ])("reads %s", (text, file) => {
    expect(parseStoreAddress(text, "--store")).toEqual({ kind: "sqlite", file });
  });

  it("reads both names of PostgreSQL, and nothing else", () => {
    expect(parseStoreAddress("postgres://h/d", "x")).toEqual({ kind: "postgres", url: "postgres://h/d" });
    expect(parseStoreAddress("postgresql://h/d", "x").kind).toBe("postgres");
    const wrongs = [
      "",
      "jobs.db",
      "sqlite:",
      "mysql://h/d",
      "postgres:h",
      "postgres://u:12/3@h/d",
      "postgres://h/d#x",
    ];
    for (const wrong of wrongs) {
      expect(() => parseStoreAddress(wrong, "x"), wrong).toThrow(CliError);
    }
  });
});

describe("addresses of MongoDB", () => {
  it.each([
    ["mongodb://h/d", "mongodb://h/d"],
    ["mongodb://ada:secret@h1:1,h2:2/d?replicaSet=rs0", "mongodb://ada@h1:1,h2:2/d"],
    ["mongodb://ada:se%40cr%2Fet@h/d", "mongodb://ada@h/d"],
    ["mongodb+srv://ada:secret@cluster.example.net/d", "mongodb+srv://ada@cluster.example.net/d"],
  ])("reads %s", (url, label) => {
    expect(parseStoreAddress(url, "--store")).toEqual({ kind: "mongodb", url, label });
  });

  it.each([
    "mongodb://h",
    "mongodb://h/",
    "mongodb://ada:se/cret@h/d",
    "mongodb://ada:se@cret@h/d",
    "mongodb://ada:se?cret@h/d",
    "mongodb://ada:se#cret@h/d",
    "mongodb:h/d",
  ])("refuses %s, and repeats nothing of it", (wrong) => {
    expect(() => parseStoreAddress(wrong, "x")).toThrow(CliError);
    expect(() => parseStoreAddress(wrong, "x")).not.toThrow(/cret/);
  });
});

describe("labels", () => {
  it.each([
    ["postgres://ada:secret@host:5433/db?sslmode=off", "postgres://ada@host:5433/db"],
    ["postgres://host/db?user=ada@tenant&password=secret", "postgres://host/db"],
    ["postgresql:///db?host=/tmp", "postgres:///db"],
  ])("of %s", (text, expected) => {
    expect(parseStoreAddress(text, "x").kind).toBe("postgres");
    expect(labelOf(text)).toBe(expected);
  });
});

describe("redaction", () => {
  it.each([
    ["postgres://ada:secret@host/db", "postgres://ada:***@host/db"],
    ["postgres://ada:se:cr@et@host/db", "postgres://ada:***@host/db"],
    ["postgres://ada@host/db", "postgres://ada@host/db"],
    [
      "see postgres://a:b@h/d?password=x&sslmode=off now",
      "see postgres://a:***@h/d?password=***&sslmode=off now",
    ],
    ["redis://:secret@host", "redis://:***@host"],
    ["postgres://ada:se/cr?e#t@host/db", "postgres://ada:***@host/db"],
    ["postgres//ada:secret@host/db", "postgres//ada:***@host/db"],
    [
      "at file:///x/node_modules/@leasehold/cli/main.js:1:2",
      "at file:///x/node_modules/@leasehold/cli/main.js:1:2",
    ],
  ])("of %s", (text, expected) => {
    expect(redactUrls(text)).toBe(expected);
  });

  it("also finds a known password by itself, escaped or not", () => {
    const { redact, addAddress } = createRedactor();
    addAddress("postgres://ada:top%20secret@host/db");
    expect(redact('password "top secret" refused for top%20secret')).toBe('password "***" refused for ***');
  });

  it("does not take a user or a host for a password", () => {
    const { redact, addAddress } = createRedactor();
    for (const address of [
      "postgres://leasehold@127.0.0.1:5432/jobs",
      "http://localhost:3000/x",
      "sqlite:/var/jobs.db",
    ]) {
      addAddress(address);
    }
    const text = "leasehold list, leasehold@127.0.0.1, jobs, localhost, 5432, 3000, /var/jobs.db";
    expect(redact(text)).toBe(text);
  });
});
