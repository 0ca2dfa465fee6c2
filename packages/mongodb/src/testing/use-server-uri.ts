import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { afterAll, beforeAll } from "vitest";

/** The address of the replica set of `LEASEHOLD_MONGODB_URI`, or of a test server for this test file. */
export const useServerUri = (): (() => string) => {
  let server: MongoTestServer | undefined;
  let uri = process.env["LEASEHOLD_MONGODB_URI"];
  beforeAll(async () => {
    if (uri !== undefined) return;
    server = await startMongoTestServer();
    uri = server.uri;
  });
  afterAll(() => server?.stop());
  return () => uri ?? "";
};

/** The same address with another database. It may name several hosts, so it is no URL. */
export const withDatabase = (uri: string, database: string): string =>
  uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${database}`);
