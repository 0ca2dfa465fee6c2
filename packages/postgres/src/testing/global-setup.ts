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
  const first = startPostgres({ version: 18, settings });
  const second = startPostgres({ version: 15, settings });
  const pooler = Promise.all([first, second]).then(([postgres18]) => startPgBouncer(postgres18));
  const stopAll = async (): Promise<void> => {
    for (const server of [pooler, first, second]) {
      const started = await server.catch(() => undefined);
      await started?.stop();
    }
  };
  try {
    project.provide("pgBouncerUrl", (await pooler).url);
    project.provide("postgres18Url", (await first).url);
    project.provide("postgres15Url", (await second).url);
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
}
