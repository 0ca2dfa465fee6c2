// Follows every link of the built site to its page and heading. VitePress itself checks only the pages.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const folder = join(import.meta.dirname, "dist");
const pages = new Map(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".html"))
    .map((path) => [path, readFileSync(join(folder, path), "utf8")]),
);
const ids = new Map(
  [...pages].map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
);

/** The file of an address without its ending: `/guide` is guide.html, `/api/` is api/index.html. */
const fileOf = (address) =>
  [address, `${address}.html`, posix.join(address, "index.html")].find(
    (path) => existsSync(join(folder, path)) && path.includes("."),
  );

const isBroken = (page, link) => {
  const { pathname, hash } = new URL(link, `http://site/${page}`);
  const file = fileOf(decodeURIComponent(pathname).slice(1));
  if (file === undefined) return true;
  return hash !== "" && ids.has(file) && !ids.get(file).has(decodeURIComponent(hash.slice(1)));
};

const broken = [...pages].flatMap(([page, html]) =>
  [...html.matchAll(/<a [^>]*href="((?![a-z]+:)[^"]+)"/g)]
    .map(([, link]) => link.replaceAll("&amp;", "&"))
    .filter((link) => isBroken(page, link))
    .map((link) => `${page}: ${link}`),
);
if (broken.length > 0) throw new Error(`Links that lead nowhere:\n${[...new Set(broken)].join("\n")}`);
console.log(`${pages.size} pages, all links lead somewhere.`);
