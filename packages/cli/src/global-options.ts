/** What every command takes. */
export interface GlobalOptions {
  readonly store?: string;
  readonly config?: string;
  readonly schema?: string;
  readonly tablePrefix?: string;
  readonly timeout: number;
  readonly json?: boolean;
}
