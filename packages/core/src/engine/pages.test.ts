import { expect, it } from "vitest";
import type { JobPage } from "../store/contract/reads.ts";
import { fillPage } from "./pages.ts";

const lookFor = (msPerLook: number) => {
  let [now, looks] = [0, 0];
  return {
    clock: { monotonic: () => now },
    look: async (): Promise<JobPage> => {
      looks += 1;
      now += msPerLook;
      return { jobs: [], next: { createdAt: looks, id: String(looks) } };
    },
  };
};

it.each([
  ["some looks, where they are quick", 10, 4],
  ["no more looks after a second", 400, 3],
  ["one look, however long it takes", 5_000, 1],
])("takes %s", async (_name, msPerLook, looks) => {
  const page = await fillPage({ limit: 10, start: null, ...lookFor(msPerLook) });
  expect(page).toEqual({ jobs: [], next: { createdAt: looks, id: String(looks) } });
});
