/** An error response. The page shows its text. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  /** What to do about it. */
  readonly hint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    { hint, headers = {} }: { hint?: string; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.headers = headers;
  }
}

export const badRequest = (message: string, hint?: string): HttpError =>
  new HttpError(400, "bad_request", message, hint === undefined ? {} : { hint });

export const notFound = (what: string): HttpError => new HttpError(404, "not_found", `There is no ${what}.`);
