import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
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
  readonly manifest: Manifest & { readonly dist?: object };
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

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

/** What `npm publish` sends: the manifest of one version, and its tarball in base64. */
interface PublishedDocument {
  readonly versions: Readonly<Record<string, Release["manifest"]>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

const readPublished = (document: PublishedDocument): Release => {
  const [manifest] = Object.values(document.versions);
  // oxlint-disable-next-line no-underscore-dangle -- npm's name
  const [attachment] = Object.values(document._attachments);
  if (manifest === undefined || attachment === undefined) throw new Error("Nothing is published by this.");
  const tarball = Buffer.from(attachment.data, "base64");
  return { manifest, tarball: async () => tarball };
};

/**
 * An npm registry on the loopback interface with the given packed packages of this repository and whatever `npm ci` has
 * installed. A project installs from it as from the real one, without a network. `npm publish` adds to it.
 */
export const startRegistry = async (
  tarballs: ReadonlyMap<string, string>,
  scratch: string,
): Promise<Registry> => {
  mkdirSync(scratch, { recursive: true });
  const own = publishedPackages
    .filter(({ name }) => tarballs.has(name))
    .map((manifest) => ({
      manifest,
      tarball: async () => readFileSync(tarballs.get(manifest.name)!),
    }));
  const releases: Release[] = [...own, ...installedReleases(scratch)];

  const describePackage = (name: string, url: string): object | undefined => {
    const versions = releases
      .map(({ manifest }, index) => ({
        ...manifest,
        dist: { ...manifest.dist, tarball: `${url}-/${index}.tgz` },
      }))
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
      if (request.method === "PUT") {
        releases.push(readPublished(JSON.parse(await readBody(request)) as PublishedDocument));
        response.statusCode = 201;
        response.end("{}");
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
