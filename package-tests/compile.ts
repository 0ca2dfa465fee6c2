import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { entries } from "./fresh-project.ts";
import { root } from "./registry.ts";
import { runWell } from "./run.ts";

const compilers = {
  "5.9": join(root, "package-tests/node_modules/.bin/tsc"),
  "7": join(root, "node_modules/.bin/tsc"),
};

export type CompilerVersion = keyof typeof compilers;

/** Writes a module that imports every entry of every package. */
const writeEntries = (folder: string): void => {
  const imports = entries.map((name, index) => `import * as entry${index} from "${name}";`);
  const uses = entries.map((_name, index) => `entry${index}`);
  const lines = [...imports, `export const all: unknown[] = [${uses.join(", ")}];`];
  writeFileSync(join(folder, "entries.ts"), lines.join("\n"));
};

/** Compiles `files` with nothing left unchecked, also not in the packages' own declarations; what the compiler says. */
export const compile = (
  version: CompilerVersion,
  folder: string,
  files: readonly string[],
  options: Readonly<Record<string, unknown>>,
): Promise<string> => {
  writeEntries(folder);
  const config = `tsconfig.${version}-${String(options["moduleResolution"])}.json`;
  const strict = {
    strict: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: "es2023",
    types: ["node"],
  };
  const compilerOptions = { ...strict, ...options };
  writeFileSync(join(folder, config), JSON.stringify({ compilerOptions, files }));
  return runWell(compilers[version], ["-p", config], folder);
};
