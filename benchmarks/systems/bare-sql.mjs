// The least that a queue with leases has to do on PostgreSQL, without a library: one insert for many jobs, one statement
// that claims a batch under a token, one that completes a batch and checks the token. Rows are updated in place and
// kept. A claimed job becomes claimable again when its lease is over, because `run_at` is then in the past again.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { batchSize, transactionConcurrency } from "../settings.mjs";
import { userWrite, userWrites } from "./user-write.mjs";

/** As many as Leasehold's worker keeps busy in a drain: one claims while the other completes. */
const drainConnections = 2;

const schema = `
create schema bare;
create table bare.job (
  id bigint generated always as identity primary key,
  type text not null,
  input jsonb not null,
  run_at timestamptz not null default now(),
  attempt int not null default 0,
  token uuid,
  finished_at timestamptz
);
create index job_due on bare.job (run_at, id) where finished_at is null;
`;

const insert = `insert into bare.job (type, input)
  select * from unnest($1::text[], $2::jsonb[]) returning id`;

// `= any(array(…))` runs the inner query once and finds the rows by their keys, whatever the size of the table.
const claim = {
  name: "claim",
  text: `update bare.job set token = $3, attempt = attempt + 1, run_at = now() + interval '30 seconds'
    where id = any(array(
      select id from bare.job
      where finished_at is null and run_at <= now() and type = any($1)
      order by run_at, id limit $2
      for update skip locked
    ))
    returning id, input`,
};

const complete = {
  name: "complete",
  text: `update bare.job set finished_at = now(), token = null
    where id = any($1::bigint[]) and token = $2 and run_at > now() and finished_at is null`,
};

const lock = {
  name: "lock",
  text: "select 1 from bare.job where id = $1 and token = $2 and run_at > now() and finished_at is null for update",
};

const lockMany = {
  name: "lock_many",
  text: `select 1 from bare.job where id = any($1::bigint[]) and token = $2 and run_at > now() and finished_at is null
    order by id for update`,
};

export const install = async ({ observer }) => {
  await observer.query(schema);
};

const insertJobs = (client, jobs, notify) =>
  client.query({
    name: notify ? "insert_and_notify" : "insert",
    text: insert + (notify ? ", pg_notify('bare_job', '')" : ""),
    values: [jobs.map(({ type }) => type), jobs.map(({ input }) => JSON.stringify(input))],
  });

/** Callers at the same time share one insert; each waits for its commit. */
const coalesce = (insertMany) => {
  let waiting = [];
  let busy = false;
  const flush = async () => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await insertMany(batch.map(({ job }) => job));
      for (const { resolve } of batch) resolve();
    }
    busy = false;
  };
  return (job) =>
    new Promise((resolve) => {
      waiting.push({ job, resolve });
      if (busy) return;
      busy = true;
      setImmediate(() => void flush());
    });
};

export const openProducer = async ({ postgresUrl }, { wakeAtOnce }) => {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  return {
    start: coalesce((jobs) => insertJobs(client, jobs, wakeAtOnce)),
    startMany: (jobs) => insertJobs(client, jobs, wakeAtOnce),
  };
};

/** Lets loops sleep until a notification that came after they looked, or a second at most. */
const createHints = async (listener) => {
  let hints = 0;
  const sleepers = new Set();
  listener.on("notification", () => {
    hints += 1;
    for (const wake of sleepers) wake();
  });
  await listener.query("listen bare_job");
  return {
    count: () => hints,
    after: (seen) =>
      new Promise((resolve) => {
        if (hints > seen) return resolve();
        const wake = () => {
          clearTimeout(timer);
          sleepers.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 1_000);
        sleepers.add(wake);
      }),
  };
};

/** Runs jobs one after another; how many at a time makes no difference to handlers that do nothing. */
const drainLoop = async ({ client, types, handle, hints }) => {
  for (;;) {
    const seen = hints.count();
    const token = randomUUID();
    const { rows } = await client.query({ ...claim, values: [types, batchSize, token] });
    if (rows.length === 0) {
      await hints.after(seen);
      continue;
    }
    for (const { input } of rows) await handle(input);
    await client.query({ ...complete, values: [rows.map(({ id }) => id), token] });
  }
};

/** Each connection takes the next of a claimed batch and completes it in a transaction with the user's write. */
const transactionLoop = async ({ client, claimer, handle, next }) => {
  for (;;) {
    const { id, input, token } = await next(claimer);
    await client.query("begin");
    const { rowCount } = await client.query({ ...lock, values: [id, token] });
    if (rowCount !== 1) throw new Error(`The lease of job ${id} is over.`);
    await handle(input);
    await client.query(userWrite(input.n));
    await client.query({ ...complete, values: [[id], token] });
    await client.query("commit");
  }
};

/** Each connection claims for itself, and completes what it has claimed in a transaction with the user's writes. */
const batchTransactionLoop = async ({ client, types, callSize, handle }) => {
  for (;;) {
    const token = randomUUID();
    const { rows } = await client.query({ ...claim, values: [types, callSize, token] });
    if (rows.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    const ids = rows.map(({ id }) => id);
    await client.query("begin");
    const { rowCount } = await client.query({ ...lockMany, values: [ids, token] });
    if (rowCount !== ids.length) throw new Error("Some of the leases are over.");
    for (const { input } of rows) await handle(input);
    await client.query(userWrites(rows.map(({ input }) => input.n)));
    await client.query({ ...complete, values: [ids, token] });
    await client.query("commit");
  }
};

const createBuffer = (types) => {
  const jobs = [];
  let refill;
  const claimMore = async (claimer) => {
    const token = randomUUID();
    const { rows } = await claimer.query({ ...claim, values: [types, batchSize, token] });
    for (const row of rows) jobs.push({ ...row, token });
    if (rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  return async (claimer) => {
    while (jobs.length === 0) {
      refill ??= claimMore(claimer).finally(() => (refill = undefined));
      await refill;
    }
    return jobs.shift();
  };
};

const connectMany = (postgresUrl, count) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const client = new pg.Client({ connectionString: postgresUrl });
      await client.connect();
      return client;
    }),
  );

export const openWorker = async ({ postgresUrl, types, observer }, { transactional, callSize, handle }) => {
  const [listener, ...clients] = await connectMany(
    postgresUrl,
    1 + (transactional ? transactionConcurrency : drainConnections),
  );
  const hints = await createHints(listener);
  return {
    start: async () => {
      if (transactional && callSize !== undefined) {
        for (const client of clients) void batchTransactionLoop({ client, types, callSize, handle });
      } else if (transactional) {
        const next = createBuffer(types);
        for (const client of clients) void transactionLoop({ client, claimer: listener, handle, next });
      } else for (const client of clients) void drainLoop({ client, types, handle, hints });
    },
    unfinished: async () => {
      const { rowCount } = await observer.query(
        "select 1 from bare.job where finished_at is null and run_at < now() + interval '1 hour' limit 1",
      );
      return rowCount > 0;
    },
  };
};

export const prefill = async ({ observer }, kind, count) => {
  const column = kind === "completed" ? "finished_at" : "run_at";
  const value = kind === "completed" ? "now()" : "now() + interval '30 days'";
  await observer.query(
    `insert into bare.job (type, input, ${column})
     select 'no-op', jsonb_build_object('n', n, 'email', 'user-' || n || '@example.com'), ${value}
     from generate_series(1, ${count}) n`,
  );
};
