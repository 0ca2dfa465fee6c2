import type { Tables } from "../../database/tables.ts";

// Starts of jobs from SQL.
//
//   start_job           inserts the row that `startJobSequence` would insert, and returns its id
//   start_on_change     creates a trigger that starts a job for every changed row of a table; stop_on_change drops it
//   start_job_of_change is what that trigger calls
//   startable_job_type  finds a registered type, or says why no job of it can be started from SQL
//
// They run with the rights of their owner, so that a role needs EXECUTE on `start_job` alone. All names have their schema, and the
// search path is fixed: an object of a caller is never used in place of one of these.

const secured = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp";

// Names of queues, types and groups are hashed with their lengths, which JavaScript counts in UTF-16 units.
const lengthSql = (text: string): string =>
  `(2 * char_length(${text}) - char_length(regexp_replace(${text}, '[\\U00010000-\\U0010FFFF]', '', 'g')))`;

const hashSql = (names: string): string => `sha256(convert_to(${names}, 'UTF8'))`;

const numberSql = (bytes: string): string =>
  `('x' || encode(substring(${bytes} FROM 1 FOR 8), 'hex'))::bit(64)::bigint`;

// As `queueTypeNumber` and `groupKey` of rows/runnable.ts.
const typeNumberSql = numberSql(hashSql(`${lengthSql("v_queue")} || ':' || v_queue || type_name`));

const groupNumberSql = numberSql(
  `set_byte(${hashSql(`${lengthSql("v_queue")} || ':' || v_queue || ${lengthSql("type_name")} || ':' || type_name || group_key`)}, 0, 127)`,
);

const firstGroupKey = (127n << 56n).toString();

const refuseSql = (condition: string, message: string, hint: string): string => `
  IF ${condition} THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = ${message}, HINT = '${hint}';
  END IF;`;

const requireNameSql = (name: string, most = 200): string =>
  refuseSql(
    `${name} IS NOT NULL AND ${lengthSql(name)} NOT BETWEEN 1 AND ${most}`,
    `'${name} must have 1 to ${most} characters'`,
    "Pass another name.",
  );

const milliseconds = (interval: string): string => `ceil(extract(epoch FROM ${interval}) * 1000)`;

// A hundred years, as in core: beyond that it is a mistake in units.
const longestMs = "3155760000000";

const requireDurationSql = (name: string, least: number): string =>
  refuseSql(
    `${name} IS NOT NULL AND ${milliseconds(name)} NOT BETWEEN ${least} AND ${longestMs}`,
    `'${name} must be ${least === 0 ? "0 or more" : "more than 0"}, and at most 100 years'`,
    "Pass an interval such as interval ''5 minutes''.",
  );

const largestTime = "8640000000000000";

/** UUIDs of version 7, as Leasehold makes them, unless ids have a default of their own. */
const newIdSql = ({ idType, idDefault }: Tables): string =>
  idType === "uuid" && idDefault === "gen_random_uuid()"
    ? `encode(set_bit(set_bit(overlay(
      uuid_send(gen_random_uuid()) PLACING substring(int8send(v_now) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid`
    : idDefault;

const startableTypeSql = ({ schema, jobType }: Tables): string => `
CREATE OR REPLACE FUNCTION ${schema}.startable_job_type(asked text) RETURNS ${jobType}
LANGUAGE plpgsql STABLE ${secured} AS $function$
DECLARE v_type ${jobType};
BEGIN
  SELECT * INTO v_type FROM ${jobType} AS t WHERE t.type_name = asked;
  ${refuseSql("v_type.type_name IS NULL", "format('job type \"%s\" is not registered', asked)", "A worker registers its types when it starts.")}
  ${refuseSql("NOT v_type.startable", "format('job type \"%s\" cannot be started from SQL', asked)", "It is internal, has blockers, or its inputs have a codec.")}
  RETURN v_type;
END
$function$`;

const deduplicateSql = ({ schema, job }: Tables): string => `
  IF deduplication_key IS NOT NULL THEN
    ${refuseSql("deduplication_strategy NOT IN ('unfinished', 'all', 'pending')", "'deduplication_strategy must be unfinished, all or pending'", "Leave it out for unfinished.")}
    ${refuseSql("current_setting('transaction_isolation') <> 'read committed'", "'a deduplication key needs the isolation level read committed'", "Other levels do not read what was started meanwhile.")}
    PERFORM pg_advisory_xact_lock(hashtextextended(
      'leasehold key of ${schema} ' || ${lengthSql("type_name")} || ':' || type_name || deduplication_key, 0));
    SELECT newest.id, newest.created_at INTO v_found
    FROM unnest(ARRAY[true, false]) AS live CROSS JOIN LATERAL (
      SELECT j.id, j.created_at, j.position FROM ${job} AS j
      WHERE j.sequence_type_name = start_job.type_name AND j.deduplication_key = start_job.deduplication_key
        AND j.deduplication_open = live
        AND (deduplication_strategy <> 'pending' OR j.status IN ('pending', 'blocked'))
      ORDER BY j.created_at DESC, j.position DESC LIMIT 1
    ) AS newest
    WHERE live OR deduplication_strategy = 'all'
    ORDER BY newest.created_at DESC, newest.position DESC LIMIT 1;
    IF FOUND AND (deduplication_window IS NULL OR v_found.created_at > v_now - ${milliseconds("deduplication_window")}) THEN
      RETURN v_found.id;
    END IF;
  END IF;`;

/** As `registrationFor` of limits/rules.ts. */
const registerGroupSql = ({ limitEpoch, limitRule }: Tables): string => `
  IF (group_key IS NOT NULL OR v_type_key >= ${firstGroupKey}) AND NOT EXISTS (
    SELECT FROM ${limitRule} AS r
    WHERE r.queue = v_queue AND r.queue_type = v_type_key AND (r.has_groups OR group_key IS NULL)
  ) THEN
    UPDATE ${limitEpoch} SET epoch = epoch + 1;
    INSERT INTO ${limitRule} AS r (queue, queue_type, type_name, has_groups)
    VALUES (v_queue, v_type_key, start_job.type_name, group_key IS NOT NULL)
    ON CONFLICT ON CONSTRAINT limit_rule_pkey DO UPDATE SET has_groups = true
    WHERE excluded.has_groups AND NOT r.has_groups;
  END IF;`;

const parameters = ({ idType }: Tables): string => `
  type_name text,
  input jsonb DEFAULT 'null',
  queue text DEFAULT NULL,
  priority integer DEFAULT NULL,
  max_attempts integer DEFAULT NULL,
  timeout interval DEFAULT NULL,
  group_key text DEFAULT NULL,
  run_at timestamptz DEFAULT NULL,
  run_after interval DEFAULT NULL,
  expire_after interval DEFAULT NULL,
  deduplication_key text DEFAULT NULL,
  deduplication_strategy text DEFAULT 'unfinished',
  deduplication_window interval DEFAULT NULL,
  id ${idType} DEFAULT NULL,
  notify boolean DEFAULT false,
  channel_prefix text DEFAULT 'leasehold'`;

// A notification as the PostgreSQL notify adapter sends it. PostgreSQL delivers it after the commit.
const notifySql = `
  IF notify AND v_ready THEN
    PERFORM pg_notify(channel_prefix || '_scheduled', jsonb_build_object('type', type_name, 'count', 1)::text);
  END IF;`;

const startJobSql = (tables: Tables): string => {
  const { schema, job, jobType, limitDelta, idType } = tables;
  return `
CREATE OR REPLACE FUNCTION ${schema}.start_job(${parameters(tables)}) RETURNS ${idType}
LANGUAGE plpgsql VOLATILE ${secured} SET enable_seqscan = off SET jit = off AS $function$
#variable_conflict use_variable
DECLARE
  v_type ${jobType};
  v_queue text;
  v_type_key bigint;
  v_key bigint;
  v_now bigint;
  v_due bigint;
  v_ready boolean;
  v_id ${idType};
  v_input text := coalesce(input, 'null')::text;
  v_found record;
BEGIN
  v_type := ${schema}.startable_job_type(type_name);
  v_queue := coalesce(queue, v_type.queue);
  ${requireNameSql("queue")}${requireNameSql("group_key")}${requireNameSql("deduplication_key", 500)}
  ${requireDurationSql("timeout", 1)}${requireDurationSql("run_after", 0)}${requireDurationSql("expire_after", 1)}
  ${requireDurationSql("deduplication_window", 1)}
  ${refuseSql("max_attempts < 1", "'max_attempts must be at least 1'", "Leave it out for that of the type.")}
  ${refuseSql("priority = -2147483648", "'priority must be at least -2147483647'", "Pass a larger number.")}
  ${refuseSql("run_at IS NOT NULL AND run_after IS NOT NULL", "'run_at and run_after exclude each other'", "Pass one of them.")}
  ${refuseSql(`run_at IS NOT NULL AND (NOT isfinite(run_at) OR abs(extract(epoch FROM run_at)) * 1000 > ${largestTime})`, "'run_at is too far away'", "Pass a time within the range of JavaScript dates.")}
  ${refuseSql("v_type.needs_group AND group_key IS NULL", "format('job type \"%s\" needs a group_key', type_name)", "Its function that finds the group runs in the application only.")}
  ${refuseSql("octet_length(v_input) > v_type.max_payload_bytes", "format('the input has more than %s bytes', v_type.max_payload_bytes)", "Store it elsewhere, and pass its id.")}
  v_now := floor(extract(epoch FROM clock_timestamp()) * 1000);
  ${deduplicateSql(tables)}
  v_type_key := ${typeNumberSql};
  v_key := CASE WHEN group_key IS NULL THEN v_type_key ELSE ${groupNumberSql} END;
  ${registerGroupSql(tables)}
  v_due := greatest(v_now, coalesce(
    floor(extract(epoch FROM run_at) * 1000), least(v_now + coalesce(${milliseconds("run_after")}, 0), ${largestTime})));
  v_ready := v_due <= v_now;
  v_id := coalesce(id, ${newIdSql(tables)});
  INSERT INTO ${job} (
    id, sequence_id, root_sequence_id, claim_key, created_at, due_at, scheduled_at, sequence_created_at, status, priority,
    sequence_index, max_attempts, max_attempts_explicit, ready, waits_on_blocker_failure, queue, type_name, sequence_type_name,
    deduplication_key, deduplication_open, input, timeout_ms, lease_ms, expire_after_ms, group_key, ordered, queue_type
  ) VALUES (
    v_id, v_id, v_id, v_key, v_now, v_due, v_due, v_now, 'pending', coalesce(priority, v_type.priority),
    0, coalesce(max_attempts, v_type.max_attempts), CASE WHEN max_attempts IS NULL THEN false END, v_ready,
    v_type.on_blocker_failure = 'wait', v_queue, type_name, type_name,
    deduplication_key, CASE WHEN deduplication_key IS NOT NULL THEN true END, v_input,
    least(${milliseconds("timeout")}, v_type.timeout_ms), v_type.lease_ms,
    coalesce(${milliseconds("expire_after")}, v_type.expire_after_ms), group_key, v_type.ordered,
    CASE WHEN group_key IS NOT NULL THEN v_type_key END
  );
  IF v_ready AND group_key IS NOT NULL THEN
    INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key, ordered, arrived)
    VALUES (v_queue, v_type_key, v_key, group_key, v_type.ordered IS NOT NULL, 1);
  END IF;
  ${notifySql}
  RETURN v_id;
END
$function$`;
};

const startOfChangeSql = ({ schema }: Tables): string => `
CREATE OR REPLACE FUNCTION ${schema}.start_job_of_change() RETURNS trigger
LANGUAGE plpgsql ${secured} AS $function$
BEGIN
  PERFORM ${schema}.start_job(TG_ARGV[0], jsonb_build_object(
    'table', format('%I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME),
    'operation', lower(TG_OP),
    'old', CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
    'new', CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END
  ), notify => TG_ARGV[1]::boolean);
  RETURN NULL;
END
$function$`;

const triggerName = "'leasehold_' || type_name";

// These two run with the rights of the caller, who must own the table.
const onChangeSql = ({ schema, jobType }: Tables): string[] => [
  `
CREATE OR REPLACE FUNCTION ${schema}.start_on_change(
  changed_table regclass, type_name text,
  operations text[] DEFAULT ARRAY['insert', 'update', 'delete'], notify boolean DEFAULT false
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE v_type ${jobType} := ${schema}.startable_job_type(type_name);
BEGIN
  ${refuseSql("v_type.needs_group", "format('job type \"%s\" needs a group_key', type_name)", "Call start_job in a trigger of your own.")}
  ${refuseSql("cardinality(operations) = 0 OR NOT operations <@ ARRAY['insert', 'update', 'delete']", "'operations must be of insert, update and delete'", "Leave it out for all of them.")}
  EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER %s ON %s FOR EACH ROW EXECUTE FUNCTION ${schema}.start_job_of_change(%L, %L)',
    ${triggerName}, array_to_string(operations, ' OR '), changed_table, type_name, notify);
END
$function$`,
  `
CREATE OR REPLACE FUNCTION ${schema}.stop_on_change(changed_table regclass, type_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s', ${triggerName}, changed_table);
END
$function$`,
];

const functionNames = [
  "startable_job_type",
  "start_job",
  "start_job_of_change",
  "start_on_change",
  "stop_on_change",
];

/** No role but the owner may call them until it is granted. */
export const startJobFunctions = (tables: Tables): string[] => [
  startableTypeSql(tables),
  startJobSql(tables),
  startOfChangeSql(tables),
  ...onChangeSql(tables),
  ...functionNames.map((name) => `REVOKE ALL ON FUNCTION ${tables.schema}.${name} FROM PUBLIC`),
];
