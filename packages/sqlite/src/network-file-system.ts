import { statfs } from "node:fs/promises";
import { NetworkFileSystemError } from "./sqlite-error.ts";

// As Linux names them in statfs(2). FUSE is not among them: it may be a network or a local disk.
const networkFileSystems: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x5346414f: "AFS",
  0x6b414653: "AFS",
  0x73757245: "Coda",
  0x01021997: "9P",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x564c: "NCP",
  0x786f4256: "VirtualBox shared folder",
};

export type ReadFileSystemType = (folder: string) => Promise<number>;

const readFileSystemType: ReadFileSystemType = async (folder) => (await statfs(folder)).type;

/** Throws for a folder on a network file system, where the platform tells. */
export const assertLocalFileSystem = async (
  folder: string,
  platform: NodeJS.Platform = process.platform,
  readType: ReadFileSystemType = readFileSystemType,
): Promise<void> => {
  if (platform === "win32" && /^[\\/]{2}[^?.\\/]/.test(folder))
    throw new NetworkFileSystemError("network share");
  if (platform !== "linux") return;
  // Some of these numbers have the highest bit set and come back as negative.
  const name = networkFileSystems[(await readType(folder)) >>> 0];
  if (name !== undefined) throw new NetworkFileSystemError(name);
};
