import { fromSegment } from "../path-segment.ts";
import { badRequest, HttpError, notFound } from "./http-error.ts";
import type { Route } from "./route.ts";

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The parts of a path. One that cannot be read is refused before anything is looked up. */
export const splitPath = (path: string): string[] => {
  try {
    return path.split("/").filter(Boolean).map(fromSegment);
  } catch {
    throw badRequest("The path is malformed.");
  }
};

const matchParts = (
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined => {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, name] of pattern.entries()) {
    const part = parts[index]!;
    if (name.startsWith(":")) params[name.slice(1)] = part;
    else if (name !== part) return undefined;
  }
  return params;
};

export const createRouter = (
  routes: readonly Route[],
): ((method: string, parts: readonly string[]) => Match) => {
  const patterns = routes.map((route) => ({ route, pattern: route.path.split("/").filter(Boolean) }));
  return (method, parts) => {
    const matches = patterns.flatMap(({ route, pattern }) => {
      const params = matchParts(pattern, parts);
      return params === undefined ? [] : [{ route, params }];
    });
    if (matches.length === 0) throw notFound("such address");
    const found = matches.find(({ route }) => route.method === method);
    if (found === undefined) {
      const allow = [...new Set(matches.map(({ route }) => route.method))].join(", ");
      throw new HttpError(405, "method_not_allowed", `${method} is not possible here.`, {
        headers: { allow },
      });
    }
    return found;
  };
};
