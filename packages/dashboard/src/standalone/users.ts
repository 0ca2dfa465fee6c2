import { InvalidOptionError } from "leasehold";
import { createHash, timingSafeEqual } from "node:crypto";
import { type Right, rights } from "../http/rights.ts";

/** Someone who signs in with a token of their own. */
export interface DashboardUser {
  readonly name: string;
  /** At least 16 characters, of letters, digits, `-`, `_`, `.` and `~`. */
  readonly token: string;
  readonly can: readonly Right[];
}

const shortestToken = 16;

const requireToken = (token: string, option: string): void => {
  if (typeof token !== "string" || token.length < shortestToken || !/^[\w.~-]+$/.test(token))
    throw new InvalidOptionError(
      option,
      `must have at least ${shortestToken} characters, of letters, digits, -, _, . and ~`,
    );
};

/** Compares hashes, which have the same length, in constant time. */
export const isSame = (a: string, b: string): boolean => {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

/** Refuses what would let in the wrong people: short tokens, a token of two users, rights that do not exist. */
export const requireUsers = (users: readonly DashboardUser[]): readonly DashboardUser[] => {
  if (users.length === 0) throw new InvalidOptionError("users", "must have at least one user");
  for (const [index, { name, token, can }] of users.entries()) {
    const option = `users[${index}]`;
    if (typeof name !== "string" || !/^[\w.@+-]{1,100}$/.test(name))
      throw new InvalidOptionError(
        `${option}.name`,
        "must be a name of letters, digits, -, _, ., + and @",
        name,
      );
    requireToken(token, `${option}.token`);
    const unknown = can.find((right) => !rights.includes(right));
    if (unknown !== undefined)
      throw new InvalidOptionError(`${option}.can`, `must be of ${rights.join(", ")}`, unknown);
    const earlier = users.slice(0, index);
    if (earlier.some((other) => other.name === name))
      throw new InvalidOptionError(`${option}.name`, "must not be the name of another user", name);
    if (earlier.some((other) => other.token === token))
      throw new InvalidOptionError(`${option}.token`, "must not be the token of another user");
  }
  return users;
};

/** The one user of a token that is for everyone who has it. */
export const operatorOf = (token: string): DashboardUser => {
  requireToken(token, "token");
  return { name: "operator", token, can: rights };
};

const wrongLine = (line: number, problem: string): InvalidOptionError =>
  new InvalidOptionError("token file", `${problem} in line ${line}: a line is a name, rights and a token`);

/**
 * The users of a token file. It has either one token, for an operator with all rights, or a line for each user: a name, rights
 * with commas in between (`all` for all of them), and a token. Lines that begin with `#` are left out.
 */
export const parseTokenFile = (text: string): readonly DashboardUser[] => {
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ words: line.trim().split(/\s+/), number: index + 1 }))
    .filter(({ words: [first = ""] }) => first !== "" && !first.startsWith("#"));
  const [only] = lines;
  if (lines.length === 1 && only!.words.length === 1) return [operatorOf(only!.words[0]!)];
  const users = lines.map(({ words, number }) => {
    const [name, granted, token, ...more] = words;
    // Not with the words themselves: one of them may be a token.
    if (token === undefined || more.length > 0) throw wrongLine(number, `has ${words.length} words`);
    const can = granted === "all" ? rights : (granted!.split(",") as Right[]);
    if (can.some((right) => !rights.includes(right)))
      throw wrongLine(number, `has rights other than all, ${rights.join(", ")}`);
    return { name: name!, token, can };
  });
  return requireUsers(users);
};
