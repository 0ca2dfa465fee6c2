import { defineConfig } from "vitest/config";

const project = (name: string, include: string, globalSetup?: string) => ({
  extends: true as const,
  test: { name, include: [include], ...(globalSetup === undefined ? {} : { globalSetup }) },
});

const packageProject = (name: string, globalSetup?: string) =>
  project(name, `packages/${name}/src/**/*.test.ts`, globalSetup);

export default defineConfig({
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // More than the two cores that the tests are to make do with: they wait for servers, leases and timers a good deal.
    maxWorkers: 3,
    projects: [
      packageProject("core"),
      packageProject("postgres", "packages/postgres/src/testing/global-setup.ts"),
      packageProject("sqlite"),
      packageProject("cli"),
      packageProject("redis"),
      packageProject("nats"),
      packageProject("otel"),
      packageProject("dashboard"),
      packageProject("mongodb-test-server"),
      packageProject("mongodb"),
      project("examples", "examples/**/*.test.ts"),
      project("packages", "package-tests/*.test.ts"),
    ],
  },
});
