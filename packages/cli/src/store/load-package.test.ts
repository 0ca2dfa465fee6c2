import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createFolder } from "../testing/run-cli.ts";
import { loadPackage } from "./load-package.ts";

const folder = createFolder();
afterAll(() => folder.remove());

const missing = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}' imported from here`), {
    code: "ERR_MODULE_NOT_FOUND",
  });

const load = (name: string, error: Error): Promise<unknown> =>
  loadPackage({
    name,
    load: () => Promise.reject(error),
    neededFor: "PostgreSQL",
    install: "@leasehold/postgres pg",
    folder: folder.path,
  });

describe("a package that is not installed next to the command", () => {
  it("is loaded from the project", async () => {
    const installed = join(folder.path, "node_modules/in-project");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, "package.json"), '{ "type": "module", "exports": "./index.js" }');
    writeFileSync(join(installed, "index.js"), "export const answer = 42;");
    expect(await load("in-project", missing("in-project"))).toMatchObject({ answer: 42 });
  });

  it("is named with the commands that install it", async () => {
    await expect(load("absent-driver", missing("absent-driver"))).rejects.toMatchObject({
      code: "PackageMissing",
      message: "PostgreSQL needs the package `absent-driver`, which is not installed here.",
      hint: expect.stringMatching(
        /npm install @leasehold\/postgres pg.*npx -p @leasehold\/cli -p @leasehold\/postgres -p pg leasehold/,
      ),
    });
  });

  it("is not confused with one that it needs itself", async () => {
    const error = missing("absent-types");
    await expect(load("absent-driver", error)).rejects.toBe(error);
  });
});
