// The systems under test. Each file exports the same functions:
//
//   install(context)                 creates what the system needs in an empty database
//   openProducer(context)            → { start(job), startMany(jobs) }
//   openWorker(context, options)     → { start(), unfinished() }
//   prefill(context, kind, count)    puts `count` "completed" or "scheduled" jobs beside the ones to come
//
// A context is { postgresUrl, redisPort, types, observer }: `observer` is a connection that is not the system's own. The
// options of a worker are { concurrency, transactional, callSize, wakeAtOnce, handle }: `handle(input)` is the handler, and
// with `transactional` each job also writes one row of the user's (see user-write.mjs). With `callSize` a call of the handler
// gets up to so many jobs, where the system has that; the rows are then written together. `unfinished()` says whether jobs that
// are due have not been recorded as finished yet.

/** @type {Record<string, { title: string, server: "postgres" | "redis", onlyIfNamed?: boolean }>} */
export const systems = {
  leasehold: { title: "Leasehold", server: "postgres" },
  "leasehold-no-statistics": {
    title: "Leasehold, statistics off",
    server: "postgres",
    onlyIfNamed: true,
  },
  "leasehold-nothing-kept": {
    title: "Leasehold, nothing kept",
    server: "postgres",
    onlyIfNamed: true,
  },
  "leasehold-before": {
    title: "Leasehold, the checkout given as --before",
    server: "postgres",
    onlyIfNamed: true,
  },
  "bullmq-redis": { title: "BullMQ on Redis", server: "redis" },
  "pg-boss": { title: "pg-boss", server: "postgres" },
  "graphile-worker": { title: "graphile-worker", server: "postgres" },
  "graphile-worker-batched": { title: "graphile-worker, batched", server: "postgres" },
  "bare-sql": { title: "bare SQL", server: "postgres" },
};

/** @param {string} name */
export const loadSystem = (name) => import(`./${name}.mjs`);
