import { startPgBouncer, startPostgres } from "@leasehold/test-servers";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    postgres18Url: string;
    postgres15Url: string;
    pgBouncerUrl: string;
  }
}

const settings = { max_connections: "300", shared_buffers: "'256MB'" };

/** Servers for all test files of the package; a file that breaks servers starts its own. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const [postgres18, postgres15] = await Promise.all([
    startPostgres({ version: 18, settings }),
    startPostgres({ version: 15, settings }),
  ]);
  const pgBouncer = await startPgBouncer(postgres18);
  project.provide("postgres18Url", postgres18.url);
  project.provide("postgres15Url", postgres15.url);
  project.provide("pgBouncerUrl", pgBouncer.url);
  return async () => {
    await pgBouncer.stop();
    await Promise.all([postgres18.stop(), postgres15.stop()]);
  };
}
