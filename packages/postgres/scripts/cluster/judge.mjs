// Compares what the processes were told with what is in the database.

/** What was acknowledged in the round and is no longer true; by then all nodes have the same. */
export const findLosses = async (ask, { started, completions }) => {
  const ids = JSON.stringify([...new Set([...started, ...completions.map(({ id }) => id)])]);
  const rows = await ask(
    `SELECT id, completed_by, output FROM leasehold.job
     WHERE id IN (SELECT value::uuid FROM jsonb_array_elements_text($1))`,
    [ids],
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  const stands = ({ id, worker, attempt }) => {
    const row = found.get(id);
    // A job with a continuation has no output of its own.
    return row?.completed_by === worker && (row.output === null || JSON.parse(row.output) === attempt);
  };
  const lostStarts = started.filter((id) => !found.has(id));
  const lostOutcomes = completions.filter((completion) => !stands(completion));
  return { starts: lostStarts.length, outcomes: lostOutcomes.length, ids: lostStarts, lostOutcomes };
};

/** The jobs that were acknowledged as completed more than once. */
export const findDoubled = (completions) => {
  const times = new Map();
  for (const { id } of completions) times.set(id, (times.get(id) ?? 0) + 1);
  return [...times].filter(([, count]) => count > 1).map(([id]) => id);
};

const isTransactional = "j.type_name IN ('write', 'first', 'second', 'third', 'join', 'slow')";

/** Each names a kind of damage and finds what suffered it. All of them hold whatever PostgreSQL has lost. */
const damages = {
  "failed jobs": "SELECT FROM leasehold.job WHERE status = 'failed'",
  "transactional jobs without exactly one row of their last attempt": `SELECT FROM leasehold.job AS j
    WHERE ${isTransactional} AND ARRAY[j.attempt] IS DISTINCT FROM
      (SELECT array_agg(e.attempt) FROM effect AS e WHERE e.job_id = j.id)`,
  "rows without a job": `SELECT FROM effect AS e
    WHERE NOT EXISTS (SELECT FROM leasehold.job AS j WHERE j.id = e.job_id)`,
  "orders without a job": `SELECT FROM orders AS o
    WHERE NOT EXISTS (SELECT FROM leasehold.job AS j WHERE j.id = o.job_id)`,
  "outputs of another attempt than the last": `SELECT FROM leasehold.job
    WHERE output IS NOT NULL AND output::int <> attempt`,
  "chains that are not three jobs": `SELECT sequence_id FROM leasehold.job
    WHERE sequence_type_name = 'first' GROUP BY sequence_id
    HAVING array_agg(type_name ORDER BY sequence_index) <> ARRAY['first', 'second', 'third']`,
  "continuations that lead nowhere": `SELECT FROM leasehold.job AS j WHERE j.continued_to_id IS NOT NULL AND NOT EXISTS
    (SELECT FROM leasehold.job AS next WHERE next.id = j.continued_to_id
      AND next.sequence_id = j.sequence_id AND next.sequence_index = j.sequence_index + 1)`,
  "jobs without their blockers": `SELECT FROM leasehold.job AS j WHERE j.type_name = 'join' AND (SELECT count(*)
    FROM leasehold.job_blocker AS b JOIN leasehold.job AS blocker ON blocker.id = b.sequence_id
    WHERE b.job_id = j.id) <> 2`,
  "blockers of no job": `SELECT FROM leasehold.job_blocker AS b
    WHERE NOT EXISTS (SELECT FROM leasehold.job AS j WHERE j.id = b.job_id)`,
  "finished jobs that still wait": `SELECT FROM leasehold.job WHERE status = 'completed' AND open_blockers <> 0`,
};

export const findDamages = async (ask) => {
  const found = {};
  for (const [damage, sql] of Object.entries(damages)) {
    const rows = await ask(sql);
    if (rows.length > 0) found[damage] = rows.length;
  }
  return found;
};

export const countUnfinished = async (ask) => {
  const [{ count }] = await ask(
    "SELECT count(*)::int AS count FROM leasehold.job WHERE status NOT IN ('completed', 'failed')",
  );
  return count;
};
