import type { JobStore } from "./job-store.ts";
import type { StoredJob } from "./job-record.ts";
import { type BeforeImage, type JobImages, type Journal, mergeJobImages } from "./journal.ts";
import { pendingOf } from "./line.ts";

/** What a read can see. */
export interface StoreView {
  find(id: string): StoredJob | undefined;
  current(sequenceId: string): StoredJob | undefined;
  members(sequenceId: string): Iterable<StoredJob>;
  tree(rootSequenceId: string): Iterable<StoredJob>;
  dependants(sequenceId: string): Iterable<StoredJob>;
  /** The pending and running jobs of a queue. */
  active(queue: string): Iterable<StoredJob>;
  jobs(): Iterable<StoredJob>;
}

function* activeJobs(store: JobStore, queue: string): Iterable<StoredJob & { readonly id: string }> {
  for (const queueType of store.runnable.queueTypes(queue, null)) {
    for (const line of [queueType.ungrouped, ...queueType.groups.values()]) {
      for (const { record } of pendingOf(line)) yield record;
    }
    for (const { record } of queueType.leased.entries()) yield record;
  }
}

/** Everything as it is now, with the changes of the open transaction. */
export const createLiveView = (store: JobStore): StoreView => ({
  find: store.find,
  current: store.current,
  members: store.members,
  tree: store.tree,
  dependants: store.dependants,
  active: (queue) => activeJobs(store, queue),
  jobs: store.records,
});

const isStored = (image: BeforeImage): image is BeforeImage & StoredJob => image.row !== null;

/**
 * Everything as it was before the open transaction: the present, with the before-images laid over it. `journals` are
 * those of the transaction and of the savepoints in it, outermost first.
 */
export const createCommittedView = (store: JobStore, journals: readonly Journal[]): StoreView => {
  let images: JobImages = journals[0]?.jobs ?? new Map();
  if (journals.length > 1) {
    images = new Map();
    for (const journal of journals) mergeJobImages(journal.jobs, images);
  }

  function* overlay(
    present: Iterable<StoredJob & { readonly id: string }>,
    belongs: (job: StoredJob) => boolean,
  ): Iterable<StoredJob> {
    for (const job of present) if (!images.has(job.id)) yield job;
    for (const image of images.values()) if (isStored(image) && belongs(image)) yield image;
  }

  const members = (sequenceId: string): Iterable<StoredJob> =>
    overlay(store.members(sequenceId), ({ row }) => row.sequenceId === sequenceId);

  return {
    find: (id) => {
      const image = images.get(id);
      if (image === undefined) return store.find(id);
      return isStored(image) ? image : undefined;
    },
    current: (sequenceId) => {
      let latest: StoredJob | undefined;
      for (const job of members(sequenceId)) {
        if (latest === undefined || job.row.sequenceIndex > latest.row.sequenceIndex) latest = job;
      }
      return latest;
    },
    members,
    tree: (rootSequenceId) =>
      overlay(store.tree(rootSequenceId), ({ row }) => row.rootSequenceId === rootSequenceId),
    dependants: (sequenceId) =>
      overlay(store.dependants(sequenceId), ({ blockerIds }) => blockerIds.includes(sequenceId)),
    active: (queue) =>
      overlay(
        activeJobs(store, queue),
        ({ row }) => row.queue === queue && (row.status === "pending" || row.status === "running"),
      ),
    jobs: () => overlay(store.records(), () => true),
  };
};
