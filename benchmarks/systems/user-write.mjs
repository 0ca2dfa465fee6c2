// The one row that each handler of `drain_tx` writes for itself.

export const userWriteTable = `create table user_write (
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
