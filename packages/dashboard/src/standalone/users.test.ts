import { describe, expect, it } from "vitest";
import { rights } from "../http/rights.ts";
import { parseTokenFile } from "./users.ts";

const token = (letter: string): string => letter.repeat(20);

describe("a token file", () => {
  it("has one token for an operator with all rights", () => {
    expect(parseTokenFile(`${token("a")}\n`)).toEqual([{ name: "operator", token: token("a"), can: rights }]);
  });

  it("has a line for each user: name, rights, token", () => {
    const text = `# who may do what\nada all ${token("a")}\r\n\n  bob read,payloads\t${token("b")}\n`;
    expect(parseTokenFile(text)).toEqual([
      { name: "ada", token: token("a"), can: rights },
      { name: "bob", token: token("b"), can: ["read", "payloads"] },
    ]);
  });

  it.each([
    ["", "at least one user"],
    ["short", "at least 16 characters"],
    ["ada all short", "at least 16 characters"],
    [`ada ${token("a")}`, "in line 1"],
    [`ada all ${token("a")} more`, "in line 1"],
    [`# first\nada everything ${token("a")}`, "in line 2"],
    [`ada all ${token("a")}\nada read ${token("b")}`, "name of another user"],
    [`ada all ${token("a")}\nbob read ${token("a")}`, "token of another user"],
    [`a:b all ${token("a")}`, "must be a name"],
  ])("%j is refused, and its tokens are not repeated", (text, problem) => {
    const parse = (): unknown => parseTokenFile(text);
    expect(parse).toThrow(problem);
    expect(parse).not.toThrow(/aaaa|bbbb/);
  });
});
