/** Sets or removes one value of an input, as the server takes it. */
export interface InputChange {
  readonly path: readonly (string | number)[];
  readonly value?: unknown;
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** What the server shows instead of a hidden value. */
export const isHiddenValue = (value: unknown): value is { readonly $hidden: string } =>
  isContainer(value) && Object.keys(value).length === 1 && typeof value["$hidden"] === "string";

const holdsHidden = (value: unknown): boolean =>
  isHiddenValue(value) || (isContainer(value) && Object.values(value).some(holdsHidden));

/** The changes from one value to another; lists of different lengths are replaced as a whole. */
export const diffInputs = (
  before: unknown,
  after: unknown,
  path: InputChange["path"] = [],
): readonly InputChange[] => {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isSameKind =
    isContainer(before) &&
    isContainer(after) &&
    !isHiddenValue(before) &&
    !isHiddenValue(after) &&
    Array.isArray(before) === Array.isArray(after) &&
    !(Array.isArray(before) && before.length !== after["length"]);
  if (!isSameKind) return [{ path, value: after }];
  const isList = Array.isArray(before);
  const at = (key: string): InputChange["path"] => [...path, isList ? Number(key) : key];
  return [
    ...Object.keys(after).flatMap((key) =>
      Object.hasOwn(before, key)
        ? diffInputs(before[key], after[key], at(key))
        : [{ path: at(key), value: after[key] }],
    ),
    ...Object.keys(before).flatMap((key) => (Object.hasOwn(after, key) ? [] : [{ path: at(key) }])),
  ];
};

/** Whether the same changes can be made to other jobs: not if they stand for a hidden value, or replace the whole input. */
export const canRepeat = (changes: readonly InputChange[]): boolean =>
  changes.length > 0 && changes.every(({ path, value }) => path.length > 0 && !holdsHidden(value));

export const formatPath = (path: InputChange["path"]): string =>
  path.length === 0 ? "the whole input" : path.join(".");
