// #region instrumentation
export const register = async (): Promise<void> => {
  // Not in the edge runtime, and not while `next build` collects pages.
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { startWorker } = await import("./lib/leasehold");
  await startWorker();
};
// #endregion
