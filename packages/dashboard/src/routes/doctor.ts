import type { Examination as Answered } from "../answers/numbers.ts";
import { boolean, date, listOfSchema, nullable, objectSchema, text, wordOf } from "../answers/schemas.ts";
import type { Examination } from "../numbers/doctor.ts";
import { get, type Route } from "./route.ts";

const examination = objectSchema<Answered>({
  lookedAt: date,
  isThorough: boolean,
  findings: listOfSchema(
    objectSchema({
      check: text,
      status: wordOf("ok", "warning", "problem"),
      summary: text,
      advice: nullable(text),
    }),
  ),
});

/** Without the message of a driver, which may contain the address of the database. */
const view = ({ lookedAt, depth, findings }: Examination) => ({
  lookedAt: new Date(lookedAt).toISOString(),
  isThorough: depth !== "light",
  findings: findings.map(({ check, status, summary, advice = null }) => ({ check, status, summary, advice })),
});

export const doctorRoutes: readonly Route[] = [
  get({
    path: "doctor",
    needs: "read",
    summary: "What slows or stops jobs, as of the last look. Takes a quick look if that was minutes ago.",
    isExpensive: true,
    answer: examination,
    handle: async ({ doctor }) => view(await doctor.latest()),
  }),
  // It changes nothing, so those who may only read can ask for it, too.
  get({
    path: "doctor/again",
    needs: "read",
    summary: "The same after a thorough look. Who asks while one is under way gets its answer.",
    isExpensive: true,
    answer: examination,
    handle: async ({ doctor }) => view(await doctor.look()),
  }),
];
