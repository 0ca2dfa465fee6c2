import { useEffect, useState } from "preact/hooks";
import type { JobPage as Page } from "../../answers.ts";

/** The rows stay where they are: those that come in are counted, those that change are changed in place. */
export const useStillRows = (page: Page | undefined, path: string) => {
  const [shown, setShown] = useState<{ path: string; page: Page }>();
  useEffect(() => {
    if (page !== undefined && shown?.path !== path) setShown({ path, page });
  }, [page, path]);
  const held = shown?.path === path ? shown.page : undefined;
  const latest = new Map(page?.jobs.map((job) => [job.id, job]));
  const known = new Set(held?.jobs.map(({ id }) => id));
  return {
    jobs: held?.jobs.map((job) => latest.get(job.id) ?? job),
    cursor: held?.cursor ?? null,
    searchedTo: held?.searchedTo ?? null,
    fresh: held === undefined ? 0 : (page?.jobs.filter(({ id }) => !known.has(id)).length ?? 0),
    showFresh: () => page !== undefined && setShown({ path, page }),
  };
};
