// The API reference: one page for each name that a package exports. A name without a description fails the build.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Converter } from "typedoc";

const root = resolve(import.meta.dirname, "..");

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The file of each name that can be imported, such as `leasehold/testing`. */
const entries = new Map(
  readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name))
    .filter((folder) => existsSync(join(folder, "package.json")) && readManifest(folder).private !== true)
    .flatMap((folder) => {
      const { name, exports } = readManifest(folder);
      return Object.entries(exports).map(([path, { "@leasehold/source": source }]) => [
        join(folder, source),
        `${name}${path.slice(1)}`,
      ]);
    }),
);

/** TypeDoc names a module by its path from the folder that all of them share. */
const importNames = new Map(
  [...entries].map(([file, name]) => [
    relative(join(root, "packages"), file).replace(/(\/index)?\.ts$/, ""),
    name,
  ]),
);

const isDocumented = (reflection) =>
  [reflection, ...(reflection.signatures ?? [])].some((each) => each.hasComment());

/** Names modules as they are imported, and refuses exported names without a doc comment. */
const checkNames = (app) =>
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = importNames.get(module.name) ?? module.name;
      for (const reflection of module.children ?? []) {
        if (reflection.isReference() || isDocumented(reflection)) continue;
        app.logger.warn(`${reflection.name} of ${module.name} has no doc comment.`);
      }
    }
  });

/** @type {import("typedoc").TypeDocOptions} */
export default {
  entryPoints: [...entries.keys()],
  plugin: ["typedoc-plugin-markdown", "typedoc-vitepress-theme", checkNames],
  tsconfig: "tsconfig.json",
  out: "pages/api",
  docsRoot: "pages",
  readme: "none",
  name: "API reference",
  entryFileName: "index",
  router: "module",
  disableSources: true,
  hideBreadcrumbs: true,
  excludeInternal: true,
  excludeExternals: true,
  githubPages: false,
  skipErrorChecking: true,
  validation: { notExported: false, invalidLink: true, rewrittenLink: true, unusedMergeModuleWith: false },
  useCodeBlocks: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
};
