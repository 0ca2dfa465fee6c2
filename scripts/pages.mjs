// The pages of docs/ as they are read outside the repository: on the site and inside the npm package.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const repository = "https://github.com/leasehold/leasehold";

const link = /(\]\(|^\[[^\]]+\]: +)((?!#|[a-z]+:)[^)\s]+)/gm;

/** A link from `folder` that leads out of docs/ leads to the repository instead. */
const leadOutside = (text, folder) =>
  text.replace(link, (whole, before, target) => {
    const path = posix.join(folder, target);
    if (path.startsWith("docs/")) return whole;
    const kind = /\.\w+(#.*)?$/.test(path) ? "blob" : "tree";
    return `${before}${repository}/${kind}/main/${path}`;
  });

const readPage = (path) => leadOutside(readFileSync(join(root, path), "utf8"), posix.dirname(path));

const listMarkdown = (folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".md"));

/** Every page for users, by its path in docs/. The design notes are for people who change Leasehold. */
export const readPages = () => new Map(listMarkdown("docs").map((name) => [name, readPage(`docs/${name}`)]));

export const readDesignNotes = () =>
  new Map(listMarkdown("docs/design").map((name) => [`design/${name}`, readPage(`docs/design/${name}`)]));

/** README.md, with links to pages as if it were one of them. */
export const readReadme = () =>
  leadOutside(readFileSync(join(root, "README.md"), "utf8"), ".").replaceAll(
    /(\]\(|srcset="|src=")docs\//g,
    "$1",
  );

export const titleOf = (text) => /^# (.+)$/m.exec(text)[1].replaceAll("`", "");

/** The first paragraph, in one line. */
export const summaryOf = (text) =>
  text
    .split(/\n\n+/)
    .find((part) => /^[A-Za-z`"*\d]/.test(part))
    ?.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll("\n", " ") ?? "";
