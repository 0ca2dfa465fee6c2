export type Redact = (text: string) => string;

export interface Redactor {
  readonly redact: Redact;
  /** From here on the passwords in this text are kept out, if it looks like an address, well written or not. */
  addAddress(text: string): void;
  /** From here on this text is kept out. */
  addSecret(secret: string): void;
}

// Shorter ones would blacken half of every text, and are no secret.
const shortestSecret = 4;

const secretParameters =
  /\b((?:ssl|pg)?password|passwd|pwd|token|secret|api_?key)(\s*=\s*)('[^']*'|"[^"]*"|[^&#\s]+)/gi;
// To the end of the word and not of the host: a password may contain an unescaped slash.
const userInformation = /\b([a-z][a-z0-9+.-]*:?\/\/)([^\s'"<>`]*)@/gi;

/** Takes passwords out of every URL in a text. */
export const redactUrls = (text: string): string =>
  text
    .replaceAll(userInformation, (all, scheme: string, user: string) => {
      const colon = user.indexOf(":");
      return colon === -1 ? all : `${scheme}${user.slice(0, colon)}:***@`;
    })
    .replaceAll(secretParameters, "$1$2***");

const spellings = (secret: string): string[] => {
  const found = [secret, encodeURIComponent(secret)];
  try {
    found.push(decodeURIComponent(secret));
  } catch {
    // Not an escaped text: then it stands for itself.
  }
  return found;
};

const scheme = /^(?:jdbc:)?(?:postgres(?:ql)?:|[a-z][a-z0-9+.-]*(?::\/+|\/\/))\/*/i;

/** Between the first colon after the scheme and the last "@", even where it is no URL at all. */
const passwordIn = (text: string): string | undefined => {
  const address = text
    .replace(/^--[\w-]+=/, "")
    .replace(/^sqlite:/i, "")
    .trim();
  const rest = address.replace(scheme, "");
  const colon = rest.indexOf(":");
  const at = rest.lastIndexOf("@");
  // JSON has colons and addresses of its own.
  if (colon === -1 || /^[^:]*[{["]/.test(rest)) return undefined;
  if (at > colon) return rest.slice(colon + 1, at);
  if (at !== -1 || rest === address) return undefined;
  // The "@" and the host were forgotten, unless it is a port.
  const [last = ""] = rest.slice(colon + 1).split("/");
  return /^\d*(?:[?#]|$)/.test(last) ? undefined : last;
};

/** Keeps passwords out of what is printed. */
export const createRedactor = (): Redactor => {
  const secrets = new Set<string>();
  const addSecret = (secret: string): void => {
    for (const spelling of spellings(secret)) if (spelling.length >= shortestSecret) secrets.add(spelling);
  };
  return {
    addSecret,
    addAddress: (text) => {
      const password = passwordIn(text);
      if (password !== undefined) {
        addSecret(password);
        for (const spelling of spellings(password)) secrets.add(`:${spelling}@`);
        // A driver that reads the address in its own way may name a part of it as host, port or database.
        for (const part of password.split(/[/?#@:&=\s]+/)) addSecret(part);
      }
      for (const [, , , value = ""] of text.matchAll(secretParameters)) {
        addSecret(value.replaceAll(/^['"]|['"]$/g, ""));
      }
    },
    redact: (text) => {
      let clean = redactUrls(text);
      // The longest first: it may contain another.
      for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
        clean = clean.replaceAll(secret, secret.startsWith(":") && secret.endsWith("@") ? ":***@" : "***");
      }
      return clean;
    },
  };
};
