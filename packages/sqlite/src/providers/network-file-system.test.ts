import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { assertLocalFileSystem } from "./file.ts";

const on = (type: number) => (): Promise<number> => Promise.resolve(type);

describe("network file systems", () => {
  it.each([
    ["NFS", 0x6969],
    ["CIFS", 0xff534d42],
    ["SMB2", 0xfe534d42 | 0],
    ["9P", 0x01021997],
  ])("refuses %s", async (name, type) => {
    await expect(assertLocalFileSystem("/mnt", "linux", on(type))).rejects.toMatchObject({
      code: "NetworkFileSystem",
      fileSystem: name,
    });
  });

  it("takes local ones", async () => {
    for (const type of [0xef53, 0x58465342, 0x01021994, 0x9123683e]) {
      await assertLocalFileSystem("/mnt", "linux", on(type));
    }
    await assertLocalFileSystem(tmpdir());
  });

  it("refuses a share on Windows, and takes a drive", async () => {
    await expect(assertLocalFileSystem("\\\\server\\share", "win32")).rejects.toMatchObject({
      code: "NetworkFileSystem",
    });
    await assertLocalFileSystem("C:\\data", "win32");
    await assertLocalFileSystem("\\\\?\\C:\\data", "win32");
  });
});
