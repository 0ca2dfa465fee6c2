import type { StateJob } from "leasehold/adapter";
import { describe, expect, it } from "vitest";
import { allColumns, createClaimedJobReader, toStateJob } from "./job-table.ts";

const own = {
  id: "job",
  input: "{}",
  created_at: "1000",
  attempt: 3,
  max_attempts: 4,
  status: "running",
  queue: "default",
  type_name: "work",
};

describe("reading a job", () => {
  it.each(allColumns.filter(({ column }) => !(column in own)))(
    "takes null in $column for the usual value",
    ({ column, property, usually, when }) => {
      const job = toStateJob({ ...own, [when?.as ?? column]: null });
      if (usually === undefined) expect(job[property]).toBeNull();
      else if ("sameAs" in usually) expect(job[property]).toBe(job[usually.sameAs]);
      else expect(job[property]).toBe(usually.value);
    },
  );

  it.each(allColumns.filter(({ column }) => !(column in own)))(
    "takes what is in $column",
    ({ column, property, type, usually, when }) => {
      const stored = { id: "x", text: "x", bigint: "77", int: 77, boolean: true }[type];
      // The usual number of attempts is a given one, stored as null.
      const unusual = usually !== undefined && "value" in usually && usually.value === true ? false : stored;
      const job = toStateJob({ ...own, [when?.as ?? column]: unusual });
      const expected = { "77": 77 }[String(unusual)] ?? unusual;
      const read: Partial<StateJob> = { onBlockerFailure: "wait", limited: true };
      expect(job[property]).toBe(read[property] ?? expected);
    },
  );

  it("adds what the claimer knows to a claimed job", () => {
    const { status: _status, queue: _queue, type_name: _typeName, ...row } = own;
    const terms = { workerId: "worker", leaseToken: "token", leaseMs: 500 };
    const read = createClaimedJobReader({ queue: "q", typeName: "t" }, terms);
    const known = {
      queue: "q",
      typeName: "t",
      sequenceTypeName: "t",
      leaseToken: "token",
      leasedBy: "worker",
    };
    expect(read({ ...row, last_attempt_at: "2000" })).toMatchObject({ ...known, leasedUntil: 2_500 });
    expect(read({ ...row, last_attempt_at: "2000", lease_ms: "9" })).toMatchObject({ leasedUntil: 2_009 });
  });
});
