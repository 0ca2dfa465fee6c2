import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

const typeOf = (name: string): string => types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream";

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The address of the page, where `index.html` leaves room for it. */
const basePlaceholder = "/__leasehold_base__";

/**
 * The files of the page by exact name, all read at once: a path is never joined with what a client sent. Undefined where the
 * page was not built.
 */
export const loadAssets = (folder: string, basePath: string): ReadonlyMap<string, Asset> | undefined => {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch {
    return undefined;
  }
  return new Map(
    names.map((name) => {
      const content = readFileSync(join(folder, name));
      const body =
        name === "index.html"
          ? new TextEncoder().encode(
              content.toString("utf8").replaceAll(basePlaceholder, escapeHtml(basePath)),
            )
          : Uint8Array.from(content);
      return [
        name.replaceAll("\\", "/"),
        { body, type: typeOf(name), isImmutable: name.startsWith("assets/") },
      ];
    }),
  );
};
