/**
 * What a person may do:
 *
 * - `read`: see everything but payloads;
 * - `payloads`: see inputs, outputs, progress and error messages;
 * - `redrive`, `cancel`, `delete`: one action each;
 * - `update`: run waiting jobs now, reschedule them, change their input;
 * - `complete`: complete a waiting job, such as an approval;
 * - `start`: start jobs;
 * - `limits`: pause and resume, change limits, and operate recurring jobs.
 */
export const rights = [
  "read",
  "payloads",
  "redrive",
  "cancel",
  "delete",
  "update",
  "complete",
  "start",
  "limits",
] as const;

/** What a user may be allowed to do. */
export type Right = (typeof rights)[number];

/** The user of a request, and what they may do. */
export interface Viewer {
  readonly user: string;
  readonly can: ReadonlySet<Right>;
}

/** For answers that all viewers share: a viewer with the least rights. */
export const onlooker: Viewer = { user: "", can: new Set(["read"]) };

/** What `authorize` returns: the user and their rights; `true` for an anonymous user who may read; a false value to refuse. */
export type Authorization =
  | { readonly user: string; readonly can: readonly Right[] }
  | boolean
  | null
  | undefined;

/** Decides what a request may do. */
export type Authorize = (request: Request) => Authorization | Promise<Authorization>;

const readingRights: ReadonlySet<Right> = new Set(["read", "payloads"]);

/** Undefined for everything that is not clearly an authorization. */
export const toViewer = (authorization: unknown, readOnly: boolean): Viewer | undefined => {
  if (authorization === true) return { user: "anonymous", can: new Set(["read"]) };
  if (typeof authorization !== "object" || authorization === null) return undefined;
  const { user, can } = authorization as { user?: unknown; can?: unknown };
  if (typeof user !== "string" || user === "" || !Array.isArray(can)) return undefined;
  const granted = rights.filter((right) => can.includes(right) && (!readOnly || readingRights.has(right)));
  return { user, can: new Set(granted) };
};

/** Where a value is, for a redaction rule. */
export interface RedactionPlace {
  readonly job: { readonly id: string; readonly typeName: string; readonly queue: string };
  readonly field: "input" | "output" | "progress" | "error" | "deduplicationKey";
  /** From the outside in. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/**
 * Returns true for a value that must not be shown, and `"show"` for one that is shown although its key looks like a secret. With any
 * other value the key decides. It is asked again for each value inside.
 */
export type RedactRule = (place: RedactionPlace) => boolean | "show" | undefined;

/** Replaces a hidden value: its kind and its length. */
export interface Hidden {
  readonly $hidden: string;
}

export interface Redactor {
  /** Without a job, no rule can decide about the value: it is hidden if there is a rule. */
  payload(
    viewer: Viewer,
    job: RedactionPlace["job"] | null,
    field: RedactionPlace["field"],
    value: unknown,
    path?: RedactionPlace["path"],
  ): unknown;
  /** A text that viewers without the right `payloads` see, too, such as the name of an error. Only the rule hides it. */
  label(job: RedactionPlace["job"], path: RedactionPlace["path"], value: string | null): unknown;
}

const secretName =
  /pass(word|wd|phrase)?$|secret|token|api[-_]?key|private[-_]?key|access[-_]?key|credential|authori[sz]ation|cookie|^(pin|otp|cvc|cvv|ssn|iban)$|card[-_]?number|session[-_]?id|signature/i;

const deepest = 32;

const kindOf = (value: unknown): string => {
  if (value === null) return "null";
  if (typeof value === "string") return `text of ${value.length} characters`;
  if (Array.isArray(value)) return `list of ${value.length}`;
  return typeof value === "object" ? `object with ${Object.keys(value).length} fields` : typeof value;
};

export const hide = (value: unknown): Hidden => ({ $hidden: kindOf(value) });

/** JSON cannot hold these, and the page must not fail because of them. */
const plain = (value: unknown): unknown => {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value === "function" || typeof value === "symbol" ? kindOf(value) : value;
};

/**
 * Hides values in answers. Keys that look like secrets are hidden at any depth; the application's rule hides more, or shows some of
 * them. A viewer without the right `payloads` gets no payload at all.
 */
export const createRedactor = (rule: RedactRule | undefined): Redactor => {
  const decide = (place: RedactionPlace): ReturnType<RedactRule> => {
    try {
      return rule?.(place);
    } catch {
      // A rule that fails must not show what it was made to hide.
      return true;
    }
  };

  const isHidden = (place: RedactionPlace): boolean => {
    const decision = decide(place);
    if (decision === "show") return false;
    const name = place.path.at(-1);
    const looksSecret = typeof name === "string" && secretName.test(name);
    return looksSecret || Boolean(decision);
  };

  const walk = (place: RedactionPlace): unknown => {
    const { value, path } = place;
    if (value === undefined) return undefined;
    if (isHidden(place)) return hide(value);
    if (typeof value !== "object" || value === null) return plain(value);
    if (path.length >= deepest) return hide(value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    const enter = (key: string | number, inner: unknown): unknown =>
      walk({ ...place, path: [...path, key], value: inner });
    if (Array.isArray(value)) return value.map((item, index) => enter(index, item) ?? null);
    const entries = Object.entries(value).map(([key, inner]) => [key, enter(key, inner)] as const);
    // `fromEntries` defines properties, so that a key named __proto__ is one like any other.
    return Object.fromEntries(entries);
  };

  return {
    payload: (viewer, job, field, value, path = []) => {
      if (value === undefined || value === null) return value ?? null;
      if (!viewer.can.has("payloads") || (job === null && rule !== undefined)) return hide(value);
      return walk({ job: job ?? { id: "", typeName: "", queue: "" }, field, path, value });
    },
    label: (job, path, value) =>
      value !== null && isHidden({ job, field: "error", path, value }) ? hide(value) : value,
  };
};
