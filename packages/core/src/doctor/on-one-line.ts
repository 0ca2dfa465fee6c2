/** A name from the store, which may contain anything. Whoever shows a finding makes it safe for where it is shown. */
export const onOneLine = (name: string): string => name.replaceAll(/\s*\n\s*/g, " ");
