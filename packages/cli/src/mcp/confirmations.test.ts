import { expect, it } from "vitest";
import { createConfirmations } from "./confirmations.ts";

it("confirms a plan once, for its own tool, for five minutes", () => {
  let time = 0;
  const { issue, take } = createConfirmations<string>(() => time);
  const planned = { tool: "cancel_jobs", given: { ids: ["a"] }, plan: "plan" };
  const token = issue(planned);
  expect(take(token, "redrive_jobs")).toBeUndefined();
  expect(take(undefined, "cancel_jobs")).toBeUndefined();
  expect(take(token, "cancel_jobs")).toBe(planned);
  expect(take(token, "cancel_jobs")).toBeUndefined();
  const late = issue(planned);
  time = 5 * 60_000;
  expect(take(late, "cancel_jobs")).toBeUndefined();
});
