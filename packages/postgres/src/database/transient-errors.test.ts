import { describe, expect, it } from "vitest";
import { hasSqlState, isFromReadOnlyServer, isConflictRollback, isTransientPgError } from "./errors.ts";

const withCode = (code: string): Error => Object.assign(new Error("from the server"), { code });

const wrapped = (cause: unknown): Error => new Error("query failed", { cause });

const transient = [
  "57P01",
  "57P02",
  "57P03",
  "25006",
  "53300",
  "53100",
  "53200",
  "40001",
  "40P01",
  "55P03",
  "08006",
  "57014",
  "57P05",
  "25P03",
];

const permanent = ["23505", "22P02", "42P01", "42501", "3D000", "28P01", "22021", "0A000", "XX000"];

describe("isTransientPgError", () => {
  it.each(transient)("%s is transient", (code) => {
    expect(isTransientPgError(withCode(code))).toBe(true);
    expect(isTransientPgError(wrapped(wrapped(withCode(code))))).toBe(true);
  });

  it.each(permanent)("%s is not", (code) => {
    expect(isTransientPgError(withCode(code))).toBe(false);
    expect(isTransientPgError(wrapped(withCode(code)))).toBe(false);
  });

  it.each(["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "CONNECTION_CLOSED", "CONNECT_TIMEOUT"])(
    "%s of the network passes",
    (code) => {
      expect(isTransientPgError(withCode(code))).toBe(true);
      expect(isTransientPgError(new AggregateError([new Error("x"), withCode(code)]))).toBe(true);
    },
  );

  it.each([
    "Connection terminated unexpectedly",
    "Query read timeout",
    "Connection terminated due to connection timeout",
    "timeout exceeded when trying to connect",
    "Client has encountered a connection error and is not queryable",
  ])("so does what pg says without a code: %s", (message) => {
    expect(isTransientPgError(new Error(message))).toBe(true);
  });

  it("nothing else is, and nothing makes it throw", () => {
    const cyclic = new Error("a");
    cyclic.cause = cyclic;
    for (const value of [
      undefined,
      null,
      0,
      "ECONNRESET",
      {},
      new Error("bad input"),
      cyclic,
      { code: 57_001 },
    ])
      expect(isTransientPgError(value)).toBe(false);
  });
});

describe("isFromReadOnlyServer", () => {
  const serializable = Object.assign(new Error("cannot use serializable mode in a hot standby"), {
    code: "0A000",
  });

  it("knows what a standby answers to writes, and to SERIALIZABLE", () => {
    for (const error of [
      withCode("25006"),
      wrapped(withCode("25006")),
      serializable,
      wrapped(serializable),
    ]) {
      expect(isFromReadOnlyServer(error)).toBe(true);
      expect(isTransientPgError(error)).toBe(true);
    }
  });

  it("is false of everything else", () => {
    for (const error of [withCode("0A000"), withCode("57P01"), new Error("hot standby"), undefined, null])
      expect(isFromReadOnlyServer(error)).toBe(false);
  });
});

describe("isConflictRollback", () => {
  it("is true of what PostgreSQL certainly rolled back, and false if the outcome is unknown", () => {
    for (const code of ["40001", "40P01", "55P03"]) expect(isConflictRollback(withCode(code))).toBe(true);
    for (const code of ["57P01", "08006", "ECONNRESET", "23505"])
      expect(isConflictRollback(withCode(code))).toBe(false);
  });
});

describe("hasSqlState", () => {
  it("looks through wrappers", () => {
    expect(hasSqlState(wrapped(withCode("23505")), "23505")).toBe(true);
    expect(hasSqlState(wrapped(withCode("23505")), "23503")).toBe(false);
    expect(hasSqlState(undefined, "23505")).toBe(false);
  });
});
