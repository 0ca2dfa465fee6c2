// The one row that is written for each job of `drain_tx` and `drain_tx_batch`.

export const userWriteTable = `create table public.user_write (
  id bigint generated always as identity primary key,
  n int not null,
  written_at timestamptz not null default now()
)`;

/** @param {number} n */
export const userWrite = (n) => ({
  name: "user_write",
  text: "insert into public.user_write (n) values ($1)",
  values: [n],
});

/** The same for many jobs. @param {readonly number[]} ns */
export const userWrites = (ns) => ({
  name: "user_writes",
  text: "insert into public.user_write (n) select * from unnest($1::int[])",
  values: [ns],
});
