import { expect, it } from "vitest";
import type { ConformanceRunner } from "./runner.ts";
import { sampleRunner } from "./sample.ts";

const define = ({ describe, it: test, afterAll }: ConformanceRunner): void => {
  describe("outer", () => {
    afterAll(() => {});
    test("1", () => {});
    describe("inner", () => {
      test("2", () => {});
      test("3", () => {});
    });
    test("4", () => {});
    describe("last", () => test("5", () => {}));
  });
  test("6", () => {});
};

const registered = (part: number, of: number): string[] => {
  const calls: string[] = [];
  const path: string[] = [];
  define(sampleRunner(
    {
      describe: (name, body) => {
        path.push(name);
        calls.push(`${path.join("/")}:`);
        body();
        path.pop();
      },
      it: (name) => void calls.push([...path, name].join("/")),
      afterAll: () => void calls.push([...path, "clean"].join("/")),
    },
    { part, of },
  ));
  return calls;
};

it("registers one test of every so many, and only groups that have tests", () => {
  expect(registered(0, 3)).toEqual(["outer:", "outer/clean", "outer/1", "outer/4"]);
  expect(registered(1, 3)).toEqual([
    "outer:",
    "outer/clean",
    "outer/inner:",
    "outer/inner/2",
    "outer/last:",
    "outer/last/5",
  ]);
  expect(registered(2, 3)).toEqual(["outer:", "outer/clean", "outer/inner:", "outer/inner/3", "6"]);
});
