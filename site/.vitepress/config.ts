import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";

const pages = join(import.meta.dirname, "../pages");
const reference = join(pages, "api/typedoc-sidebar.json");

const read = (name: string): string => readFileSync(join(pages, name), "utf8");
const titleOf = (name: string): string => /^# (.+)$/m.exec(read(name))?.[1]?.replaceAll("`", "") ?? name;

/** The sections of the page that lists all pages, each with the pages that it links to. */
const sections = read("contents.md")
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const linked = [...section.matchAll(/\]\(([\w/-]+\.md)/g)].map(([, name]) => name);
    const items = [...new Set(linked)].map((name) => ({
      text: titleOf(name),
      link: `/${name.replace(/\.md$/, "")}`,
    }));
    return { text: section.split("\n")[0], items };
  })
  .filter(({ items }) => items.length > 0);

const page = (text: string, name: string) => ({ text, link: `/${name}` });

export default defineConfig({
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "cache",
  title: "Leasehold",
  description: "Durable background jobs in your own PostgreSQL, SQLite or MongoDB database",
  lastUpdated: false,
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    // As GitHub makes them, so that one link works in both places. The tests check them.
    anchor: {
      slugify: (heading: string) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
          .replaceAll(" ", "-"),
    },
    // Code such as `{{ name }}` is text here.
    config: (markdown) => {
      const { code_inline: render } = markdown.renderer.rules;
      if (render !== undefined)
        markdown.renderer.rules.code_inline = (...args) => render(...args).replace("<code", "<code v-pre");
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      page("Guide", "guide"),
      page("Recipes", "recipes"),
      page("Guarantees", "guarantees"),
      page("API", "api/"),
      page("All pages", "contents"),
    ],
    sidebar: {
      "/api/": existsSync(reference)
        ? [{ text: "API reference", items: JSON.parse(readFileSync(reference, "utf8")) }]
        : [],
      "/": sections,
    },
    socialLinks: [{ icon: "github", link: "https://github.com/leasehold/leasehold" }],
  },
});
