import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createUuidV7 } from "./runtime.ts";

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("createUuidV7", () => {
  it("makes ids of the standard's form that carry the time", () => {
    const createId = createUuidV7({ now: () => 0x0123456789ab, randomBytes });
    const id = createId();
    expect(id).toMatch(form);
    expect(id.slice(0, 13)).toBe("01234567-89ab");
  });

  it("rises strictly, within a millisecond and when the clock steps back", () => {
    let ms = 1_900_000_000_000;
    const createId = createUuidV7({ now: () => ms, randomBytes });
    const ids: string[] = [];
    for (let round = 0; round < 20_000; round += 1) {
      if (round % 5_000 === 0) ms += round % 10_000 === 0 ? 5 : -3;
      ids.push(createId());
    }
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(form);
  });

  it("does not repeat itself in another process", () => {
    const [one, other] = [0, 1].map(() => createUuidV7({ now: () => 1, randomBytes }));
    const ids = Array.from({ length: 1_000 }, () => [one!(), other!()]).flat();
    expect(new Set(ids).size).toBe(2_000);
  });
});
