// Writes the pages that VitePress reads: those of docs/, README.md as the front page, and llms.txt for language models.
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readDesignNotes, readPages, readReadme, summaryOf, titleOf } from "../scripts/pages.mjs";

const folder = join(import.meta.dirname, "pages");
const write = (path, text) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

const home = `---
title: Leasehold
titleTemplate: background jobs in your own database
layout: home
hero:
  name: Leasehold
  text: Background jobs in your own database
  tagline: For TypeScript on PostgreSQL, SQLite and MongoDB. Write a row and start its job in one commit.
  actions:
    - { theme: brand, text: Guide, link: /guide }
    - { theme: alt, text: All pages, link: /contents }
    - { theme: alt, text: API reference, link: /api/ }
---
`;

/** Vite finds an image in HTML only by a path with a dot. */
const findImages = (text) => text.replaceAll(/(src|srcset)="images\//g, '$1="./images/');

// README.md of docs/ would become the front page.
const nameOf = (path) => (path === "README.md" ? "contents.md" : path);
const pages = new Map([...readPages()].map(([path, text]) => [nameOf(path), text]));

rmSync(folder, { recursive: true, force: true });
const leadToContents = (text) => text.replaceAll(/\]\((\.\.\/)?README\.md/g, "]($1contents.md");
for (const [path, text] of pages) write(path, leadToContents(findImages(text)));
// Users search for what a word means today, not for why it was chosen.
for (const [path, text] of readDesignNotes()) {
  write(path, `---\nsearch: false\n---\n\n${leadToContents(findImages(text))}`);
}
write(
  "index.md",
  home +
    findImages(readReadme())
      .replace(/^# .+\n/, "")
      .replaceAll("](README.md", "](contents.md"),
);
cpSync(join(import.meta.dirname, "../docs/images"), join(folder, "images"), { recursive: true });
cpSync(join(import.meta.dirname, "../docs/observability"), join(folder, "public/observability"), {
  recursive: true,
});

const listed = [...pages].map(
  ([path, text]) => `- [${titleOf(text)}](/${path.replace(/\.md$/, "")}): ${summaryOf(text)}`,
);
const intro = summaryOf(readReadme());
write("public/llms.txt", `# Leasehold\n\n> ${intro}\n\n## Pages\n\n${listed.join("\n")}\n`);
write("public/llms-full.txt", [readReadme(), ...pages.values()].join("\n\n---\n\n"));
