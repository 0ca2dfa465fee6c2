import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { runWell } from "./run.ts";

export const root: string = resolve(import.meta.dirname, "..");

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, unknown>>;
}

interface Release {
  readonly manifest: Manifest;
  readonly tarball: () => Promise<Buffer>;
}

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** The packages of this repository that are published. */
export const publishedPackages: readonly Manifest[] = readdirSync(join(root, "packages"))
  .map((name) => readManifest(join(root, "packages", name)))
  .filter((manifest) => manifest.private !== true);

/** What `npm publish` would send, as files of `folder`. */
export const packAll = async (folder: string): Promise<ReadonlyMap<string, string>> => {
  if (!existsSync(join(root, "packages/core/dist"))) throw new Error("Run `npm run build` first.");
  const workspaces = publishedPackages.flatMap(({ name }) => ["-w", name]);
  await runWell("npm", ["pack", "--silent", "--pack-destination", folder, ...workspaces], root);
  return new Map(
    publishedPackages.map(({ name, version }) => [
      name,
      join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`),
    ]),
  );
};

const packInstalled = async (installed: string, scratch: string): Promise<Buffer> => {
  const parent = mkdtempSync(join(scratch, "pack-"));
  symlinkSync(installed, join(parent, "package"));
  const args = ["-czhf", "-", "--exclude", "package/node_modules", "-C", parent, "package"];
  const { stdout } = await promisify(execFile)("tar", args, { encoding: "buffer", maxBuffer: 2 ** 28 });
  return stdout;
};

/** Every version of every package that `npm ci` has installed here. */
const installedReleases = (scratch: string): Release[] => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly link?: boolean }>>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes("node_modules/") && link !== true)
    .map(([path]) => join(root, path))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ manifest: readManifest(folder), tarball: () => packInstalled(folder, scratch) }));
};

/**
 * An npm registry on the loopback interface with the packed packages of this repository and whatever `npm ci` has
 * installed. A project installs from it as from the real one, without a network and with nothing published.
 */
export const startRegistry = async (
  tarballs: ReadonlyMap<string, string>,
  scratch: string,
): Promise<Registry> => {
  mkdirSync(scratch, { recursive: true });
  const own = publishedPackages.map((manifest) => ({
    manifest,
    tarball: async () => readFileSync(tarballs.get(manifest.name)!),
  }));
  const releases = [...own, ...installedReleases(scratch)];

  const describePackage = (name: string, url: string): object | undefined => {
    const versions = releases
      .map(({ manifest }, index) => ({ ...manifest, dist: { tarball: `${url}-/${index}.tgz` } }))
      .filter((manifest) => manifest.name === name);
    const [latest] = versions;
    if (latest === undefined) return undefined;
    return {
      name,
      "dist-tags": { latest: latest.version },
      versions: Object.fromEntries(versions.map((manifest) => [manifest.version, manifest])),
    };
  };

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/").slice(1);
    const answer = async (): Promise<void> => {
      if (path.startsWith("-/") && path.endsWith(".tgz")) {
        response.end(await releases[Number.parseInt(basename(path), 10)]!.tarball());
        return;
      }
      const description = describePackage(path, `http://${request.headers.host}/`);
      if (description === undefined) response.statusCode = 404;
      response.end(JSON.stringify(description ?? { error: "not found" }));
    };
    answer().catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
