import { expect, it } from "vitest";
import { changeInput } from "./edit-input.ts";

const input = { to: "ada", items: [{ name: "tea", count: 1 }, { name: "milk" }], "a.b": 1 };

it.each([
  [[{ path: ["to"], value: "bob" }], { ...input, to: "bob" }],
  [[{ path: ["cc"], value: null }], { ...input, cc: null }],
  [[{ path: ["to"] }], { items: input.items, "a.b": 1 }],
  [
    [{ path: ["items", 1, "name"], value: "rice" }, { path: ["items", 0] }],
    { ...input, items: [{ name: "rice" }] },
  ],
  [[{ path: [], value: 5 }], 5],
])("changes an input by %o", (changes, changed) => {
  const before = structuredClone(input);
  expect(changeInput(input, changes)).toEqual({ input: changed });
  expect(input).toEqual(before);
});

it.each([
  [[{ path: ["to", "name"], value: 1 }]],
  [[{ path: ["items", 2, "name"], value: 1 }]],
  [[{ path: ["items", "name"], value: 1 }]],
  [[{ path: ["missing", "name"], value: 1 }]],
])("leaves an input alone that has no place for %o", (changes) => {
  expect(changeInput(input, changes)).toBeUndefined();
});

it("sets __proto__ as a property like others", () => {
  const changed = changeInput({}, [{ path: ["__proto__"], value: { isAdmin: true } }]);
  expect(Object.keys(changed!.input as object)).toEqual(["__proto__"]);
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
});
