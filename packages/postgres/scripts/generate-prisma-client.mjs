// Generates the Prisma client of the example, unless it is newer than its schema and the generator. Works offline.
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../examples/prisma", import.meta.url));
const require = createRequire(import.meta.url);

const findPrisma = () => {
  try {
    return require.resolve("prisma/package.json");
  } catch {
    process.stderr.write("The package prisma is not installed. Run `npm ci` first.\n");
    return process.exit(1);
  }
};

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const generatedAt = changedAt(`${folder}/client/client.ts`);
if (generatedAt <= Math.max(changedAt(`${folder}/schema.prisma`), changedAt(findPrisma()))) {
  const program = require.resolve("prisma/build/index.js");
  execFileSync(process.execPath, [program, "generate", "--schema", `${folder}/schema.prisma`], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    // Prisma would download its engine for migrations, which a client does not need: any program that exists will do.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" },
  });
}
