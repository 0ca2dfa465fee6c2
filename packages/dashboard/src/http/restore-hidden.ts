import { badRequest } from "./errors.ts";
import type { Hidden } from "./rights.ts";

export const isHiddenValue = (value: unknown): value is Hidden =>
  typeof value === "object" &&
  value !== null &&
  Object.keys(value).length === 1 &&
  typeof (value as Partial<Hidden>).$hidden === "string";

/**
 * An edited value, with the stored values where the viewer saw the marker of a hidden one and left it in its place. `shown` is
 * what the viewer saw of `stored`. A marker anywhere else is refused: it would be stored instead of a value.
 */
export const restoreHidden = (edited: unknown, shown: unknown, stored: unknown, path = "input"): unknown => {
  if (typeof edited !== "object" || edited === null) return edited;
  if (isHiddenValue(edited)) {
    if (isHiddenValue(shown) && shown.$hidden === edited.$hidden) return stored;
    throw badRequest(
      `${path} stands for a hidden value, and there is none here.`,
      "Write the value, or leave the hidden one in its place.",
    );
  }
  const inner = (container: unknown, key: string): unknown =>
    typeof container === "object" && container !== null && Object.hasOwn(container, key)
      ? (container as Record<string, unknown>)[key]
      : undefined;
  const restore = (key: string, value: unknown): unknown =>
    restoreHidden(value, inner(shown, key), inner(stored, key), `${path}.${key}`);
  if (Array.isArray(edited)) return edited.map((value, index) => restore(String(index), value));
  return Object.fromEntries(Object.entries(edited).map(([key, value]) => [key, restore(key, value)]));
};
