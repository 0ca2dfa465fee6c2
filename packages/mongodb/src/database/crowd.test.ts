import { expect, it } from "vitest";
import { createCrowd } from "./contention.ts";

it("grows with every collision in its queue, and shrinks with every claim that had its jobs to itself", () => {
  const crowd = createCrowd(() => 0);
  expect(crowd.size("mail")).toBe(1);
  for (let times = 0; times < 3; times++) crowd.note("mail", 10, 4);
  expect([crowd.size("mail"), crowd.size("other")]).toEqual([8, 1]);
  for (let times = 0; times < 5; times++) crowd.note("mail", 10, 4);
  expect(crowd.size("mail")).toBe(16);
  crowd.note("mail", 10, 10);
  expect(crowd.size("mail")).toBe(12);
  for (let times = 0; times < 9; times++) crowd.note("mail", 10, 10);
  expect(crowd.size("mail")).toBe(1);
});

it("is forgotten after a second without a collision", () => {
  let time = 0;
  const crowd = createCrowd(() => time);
  crowd.note("mail", 10, 0);
  expect(crowd.size("mail")).toBe(2);
  time = 1_000;
  expect(crowd.size("mail")).toBe(1);
});
