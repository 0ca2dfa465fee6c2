import { createCompressor, type Encoding } from "./compress.ts";

export interface Asset {
  readonly type: string;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
  /** The content. Each encoding is made once, when it is first asked for. */
  body(encoding: Encoding | undefined): Promise<Uint8Array<ArrayBuffer>>;
}

export type Assets = ReadonlyMap<string, Asset>;

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

/** The files of the page by exact name: a path is never joined with what a client sent. */
export const toAssets = (files: Readonly<Record<string, string>>, basePath: string): Assets =>
  new Map(
    Object.entries(files).map(([name, content]) => {
      const text =
        name === "index.html" ? content.replaceAll(basePlaceholder, escapeHtml(basePath)) : content;
      return [
        name,
        {
          type: typeOf(name),
          isImmutable: name.startsWith("assets/"),
          body: createCompressor(new TextEncoder().encode(text)),
        },
      ];
    }),
  );
