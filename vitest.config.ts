import { defineConfig } from "vitest/config";

interface ProjectOptions {
  readonly globalSetup?: string;
  /**
   * Whether each file gets a process of its own. Starting one and importing everything again takes about half a second of CPU
   * time. It can be off where no file leaves anything behind in its process: environment variables, mocks, handlers of
   * signals, modules with state. To find out whether another file is to blame for a failure, run with `--isolate`.
   */
  readonly isolate?: boolean;
}

const project = (name: string, include: string, options: ProjectOptions = {}) => ({
  extends: true as const,
  test: { name, include: [include], ...options },
});

const packageProject = (name: string, options?: ProjectOptions) =>
  project(name, `packages/${name}/src/**/*.test.ts`, options);

const shared: ProjectOptions = { isolate: false };

export default defineConfig({
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // The default of a second is too short for a browser on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    // More than the two cores that the tests are to make do with: they wait for servers, leases and timers a good deal.
    maxWorkers: 3,
    projects: [
      packageProject("core", shared),
      packageProject("postgres", {
        ...shared,
        globalSetup: "packages/postgres/src/testing/global-setup.ts",
      }),
      packageProject("sqlite", shared),
      packageProject("cli"),
      packageProject("redis"),
      packageProject("nats"),
      packageProject("otel"),
      packageProject("nestjs"),
      packageProject("dashboard"),
      packageProject("mongodb-test-server", shared),
      packageProject("mongodb", shared),
      project("examples", "examples/**/*.test.ts"),
      project("packages", "package-tests/*.test.ts"),
    ],
  },
});
