import { checkReport } from "../answers/numbers.ts";
import type { StoreCheck } from "../numbers/doctor.ts";
import { get, type Route } from "./route.ts";

/** Without the message of a driver, which may contain the address of the database. */
const view = ({ checkedAt, depth, results }: StoreCheck) => ({
  checkedAt: new Date(checkedAt).toISOString(),
  isThorough: depth !== "light",
  results: results.map(({ check, status, summary, advice = null }) => ({ check, status, summary, advice })),
});

export const doctorRoutes: readonly Route[] = [
  get({
    path: "doctor",
    needs: "read",
    summary: "What slows or stops jobs, as of the last look. Takes a quick look if that was minutes ago.",
    isExpensive: true,
    answer: checkReport,
    handle: async ({ doctor }) => view(await doctor.latest()),
  }),
  // It changes nothing, so the right to read is enough.
  get({
    path: "doctor/again",
    needs: "read",
    summary: "The same after a thorough look. Who asks while one is under way gets its answer.",
    isExpensive: true,
    answer: checkReport,
    handle: async ({ doctor }) => view(await doctor.check()),
  }),
];
