import type { Engine } from "../engine/engine.ts";
import type { JobStatus } from "../store/contract/job.ts";
import type { JobPage, PagePosition } from "../store/contract/reads.ts";

const unfinished: readonly JobStatus[] = ["blocked", "pending", "running"];

const pageSize = 500;

/**
 * Decides which sequences of a tree lie below the chosen ones. It follows the origins upwards, so it reads the ancestors of
 * the sequences it is asked about and not the rest of the tree. Each ancestor is read once.
 */
const createAncestry = (
  { store }: Engine,
  ctx: object | undefined,
  rootSequenceId: string,
  chosen: ReadonlySet<string>,
): ((sequenceIds: readonly string[]) => Promise<string[]>) => {
  // Every other sequence of the tree lies below its root.
  if (chosen.has(rootSequenceId)) return async (sequenceIds) => [...sequenceIds];
  /** The sequence whose job started this one. */
  const parents = new Map<string, string | undefined>([[rootSequenceId, undefined]]);

  const readParents = async (sequenceIds: readonly string[]): Promise<void> => {
    const isUnread = (id: string | undefined): id is string =>
      id !== undefined && !chosen.has(id) && !parents.has(id);
    let open = sequenceIds.filter(isUnread);
    while (open.length > 0) {
      const firsts = await store.getJobs({ ctx, jobIds: open });
      const originIds = [...new Set(firsts.flatMap((first) => first?.originId ?? []))];
      const origins = originIds.length === 0 ? [] : await store.getJobs({ ctx, jobIds: originIds });
      const sequenceOf = new Map(origins.flatMap((job) => (job ? [[job.id, job.sequenceId]] : [])));
      for (const [index, id] of open.entries())
        parents.set(id, sequenceOf.get(firsts[index]?.originId ?? ""));
      open = [...new Set(open.map((id) => parents.get(id)))].filter(isUnread);
    }
  };

  const isBelow = (sequenceId: string): boolean => {
    for (let id: string | undefined = sequenceId; id !== undefined; id = parents.get(id))
      if (chosen.has(id)) return true;
    return false;
  };

  return async (sequenceIds) => {
    await readParents(sequenceIds);
    return sequenceIds.filter(isBelow);
  };
};

/**
 * Finds unfinished sequences of one tree below the chosen ones, each once, in portions. The caller ends each portion before
 * the next is read. Jobs that ran meanwhile may have started more, so the tree is read again until nothing new is in it.
 */
async function* findInTree(
  engine: Engine,
  ctx: object | undefined,
  rootSequenceId: string,
  chosen: ReadonlySet<string>,
): AsyncGenerator<readonly string[], void> {
  const findBelow = createAncestry(engine, ctx, rootSequenceId, chosen);
  const seen = new Set(chosen);
  for (let hasFound = true; hasFound;) {
    hasFound = false;
    let after: PagePosition | null = null;
    do {
      const page: JobPage = await engine.store.listJobs({
        ctx,
        filter: { rootSequenceId, statuses: unfinished },
        order: "oldest",
        limit: pageSize,
        after,
      });
      const unseen = [...new Set(page.jobs.map(({ sequenceId }) => sequenceId))].filter(
        (id) => !seen.has(id),
      );
      const below = await findBelow(unseen);
      for (const id of unseen) seen.add(id);
      if (below.length > 0) {
        hasFound = true;
        yield below;
      }
      after = page.next;
    } while (after !== null);
  }
}

/**
 * The unfinished sequences that jobs of these sequences have started, and jobs of those, in portions: children, their
 * children, and blockers that were started with any of them. A detached start has a tree of its own and is left out.
 */
export async function* findChildren(
  engine: Engine,
  ctx: object | undefined,
  sequenceIds: readonly string[],
): AsyncGenerator<readonly string[], void> {
  const chosenByTree = new Map<string, Set<string>>();
  for (const sequence of await engine.store.getSequences({ ctx, sequenceIds })) {
    if (!sequence) continue;
    const { sequenceId, rootSequenceId } = sequence.first;
    const chosen = chosenByTree.get(rootSequenceId);
    if (chosen) chosen.add(sequenceId);
    else chosenByTree.set(rootSequenceId, new Set([sequenceId]));
  }
  for (const [rootSequenceId, chosen] of chosenByTree) yield* findInTree(engine, ctx, rootSequenceId, chosen);
}
