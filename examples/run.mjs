// npm run example -- simple-job
import { existsSync, readdirSync } from "node:fs";

const [name] = process.argv.slice(2);
const compiled = new URL(`dist/${name}.js`, import.meta.url);

if (name === undefined || !/^[a-z-]+$/.test(name) || !existsSync(compiled)) {
  const names = readdirSync(new URL("dist/", import.meta.url))
    .filter((file) => file.endsWith(".js") && !file.includes(".test."))
    .map((file) => `  ${file.slice(0, -3)}`);
  console.error(`Usage: npm run example -- <name>, where the name is one of\n${names.join("\n")}`);
  process.exitCode = 1;
} else {
  const { main } = await import(compiled.href);
  await main(console.log);
}
