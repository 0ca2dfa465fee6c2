/**
 * What a suite needs of a test runner. Vitest's functions fit as they are; for `node:test` pass its `after` as
 * `afterAll`.
 */
export interface ConformanceRunner {
  describe(name: string, define: () => void): void;
  it(name: string, test: () => Promise<void> | void, timeoutMs?: number): void;
  afterAll(clean: () => Promise<void> | void): void;
}
