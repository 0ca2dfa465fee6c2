/** The order of a database: that of the bytes, which is not that of JavaScript beyond U+FFFF. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
