import { createHash } from "node:crypto";
import { securityHeaders } from "./guard.ts";

/** A page for a person, of texts that the server has written itself: nothing of a request is shown. */
export interface PlainPage {
  readonly status: number;
  readonly title: string;
  readonly paragraphs: readonly string[];
  /** Where to send a token that a person types in. Default: no field for it. */
  readonly signInPath?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  main { max-width: 34rem; margin: 12vh auto; padding: 0 1.5rem; }
  h1 { font-size: 1.4rem; }
  label { display: block; margin: 1.5rem 0 0.3rem; }
  input, button { font: inherit; padding: 0.4rem 0.6rem; }
  input { width: 100%; max-width: 22rem; box-sizing: border-box; }
  button { margin-top: 0.8rem; }
  code { font-size: 0.95em; white-space: nowrap; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** What is between backticks is something to type. */
const toParagraph = (text: string): string =>
  `<p>${escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`;

const toForm = (path: string): string => `<form method="post" action="${escape(path)}">
<label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<br><button>Sign in</button>
</form>`;

export const plainPage = ({ status, title, paragraphs, signInPath, headers }: PlainPage): Response => {
  const policy = securityHeaders["content-security-policy"]!.replace(
    "style-src 'self'",
    `style-src 'sha256-${styleHash}'`,
  );
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Leasehold</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
${paragraphs.map(toParagraph).join("\n")}
${signInPath === undefined ? "" : toForm(signInPath)}
</main>
</body>
</html>
`;
  return new Response(body, {
    status,
    headers: {
      ...securityHeaders,
      // Without a referrer a browser would not name the origin of the form either.
      ...(signInPath !== undefined && { "referrer-policy": "same-origin" }),
      "content-security-policy":
        signInPath === undefined ? policy : policy.replace("form-action 'none'", "form-action 'self'"),
      "cache-control": "no-store",
      "content-type": "text/html; charset=utf-8",
      ...headers,
    },
  });
};

/** Whether a browser opens this address to show it. */
export const isVisit = ({ method, headers }: Request): boolean =>
  method === "GET" && headers.get("accept")?.includes("text/html") === true;
