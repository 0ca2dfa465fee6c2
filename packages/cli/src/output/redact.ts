import { redactUrls, secretsOf } from "../store/store-url.ts";

export type Redact = (text: string) => string;

export interface Redactor {
  readonly redact: Redact;
  /** From here on the passwords in this address are kept out, wherever a driver may mention them. */
  addAddress(address: string): void;
}

// Shorter ones would blacken half of every text, and are no secret.
const shortestSecret = 4;

/** Keeps passwords out of what is printed. */
export const createRedactor = (): Redactor => {
  const secrets = new Set<string>();
  return {
    addAddress: (address) => {
      for (const secret of secretsOf(address)) if (secret.length >= shortestSecret) secrets.add(secret);
    },
    redact: (text) => {
      let clean = redactUrls(text);
      for (const secret of secrets) clean = clean.replaceAll(secret, "***");
      return clean;
    },
  };
};
