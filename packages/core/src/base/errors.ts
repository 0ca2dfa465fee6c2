/** The base of every error Leasehold throws on purpose. `code` is stable; the message is for people. */
export class LeaseholdError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = `${code}Error`;
    this.code = code;
  }
}

export const describe = (value: unknown): string => {
  if (typeof value === "string") return value.length > 60 ? "a long string" : JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value === "bigint") return `${value}n`.slice(0, 60);
  if (typeof value === "object" && value !== null) return describeObject(value);
  return String(value);
};

const describeObject = (value: object): string => {
  try {
    return Array.isArray(value) ? "an array" : "an object";
  } catch {
    // Even asking a revoked proxy what it is throws.
    return "an object";
  }
};

/** An argument does not exist, is missing, of the wrong kind or out of range. Nothing was written. */
export class InvalidOptionError extends LeaseholdError {
  readonly option: string;
  constructor(option: string, requirement: string, ...received: [value?: unknown]) {
    const given = received.length === 0 ? "" : `; received ${describe(received[0])}`;
    const end = /[.?]$/.test(requirement + given) ? "" : ".";
    super("InvalidOption", `Option \`${option.slice(0, 300)}\` ${requirement}${given}${end}`);
    this.option = option;
  }
}

/** A call came after `close`. Nothing was written. */
export class LeaseholdClosedError extends LeaseholdError {
  readonly operation: string;
  constructor(operation: string) {
    super("LeaseholdClosed", `\`${operation}\` was called after this Leasehold had been closed.`);
    this.operation = operation;
  }
}

/** An input, output or progress value that the codec cannot store without changing it. */
export class PayloadNotStorableError extends LeaseholdError {
  /** Where in the value the problem is, as in `input.items[3].price`. */
  readonly path: string;
  constructor(path: string, problem: string, options?: ErrorOptions) {
    super("PayloadNotStorable", `\`${path}\` cannot be stored: ${problem}.`, options);
    this.path = path;
  }
}

/** An input or output is larger than `maxPayloadBytes`. */
export class PayloadTooLargeError extends LeaseholdError {
  readonly path: string;
  readonly bytes: number;
  readonly maxBytes: number;
  constructor(path: string, bytes: number, maxBytes: number) {
    super(
      "PayloadTooLarge",
      `\`${path}\` takes ${bytes} bytes and the limit is ${maxBytes}. Store the data elsewhere and pass a reference, or raise \`maxPayloadBytes\`.`,
    );
    this.path = path;
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}

/** What a schema found wrong, and where. */
export interface SchemaIssue {
  readonly message: string;
  readonly path: string;
}

/** A value does not fit the schema of its job type. */
export class SchemaValidationError extends LeaseholdError {
  readonly typeName: string;
  readonly part: "input" | "output";
  readonly issues: readonly SchemaIssue[];
  constructor(
    typeName: string,
    part: "input" | "output",
    issues: readonly SchemaIssue[],
    options?: ErrorOptions,
  ) {
    const listed = issues
      .slice(0, 5)
      .map(({ path, message }) => `${path}: ${message}`)
      .join("; ");
    super(
      "SchemaValidation",
      `The ${part} of job type "${typeName}" does not fit its schema: ${listed}`,
      options,
    );
    this.typeName = typeName;
    this.part = part;
    this.issues = issues;
  }
}
