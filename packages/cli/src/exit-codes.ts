/** What the command's exit codes mean; docs/cli.md has the same table. */
export const exitCodes = {
  done: 0,
  /** Something went wrong that none of the others names. */
  error: 1,
  /** Arguments, options, input or the config module are wrong. Nothing was done. */
  usage: 2,
  /** There is no such job. */
  notFound: 3,
  /** The store cannot be reached, or its tables are not there or not up to date. */
  store: 4,
  /** The command worked and brings bad news: problems, pending migrations, a failed job. */
  finding: 5,
  /** Confirmation was needed and not given. */
  notConfirmed: 6,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
