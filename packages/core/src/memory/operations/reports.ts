import type {
  RollUpBucketsCall,
  DeleteOldReportsCall,
  ListProcessesCall,
  ReadBucketsCall,
  ReportCall,
  StatisticsBucket,
  BucketKey,
  StateProcess,
} from "../../store/contract/history.ts";
import { byBytes } from "../by-bytes.ts";
import { filtered } from "../job-filter.ts";
import type { StoreView } from "../store-view.ts";
import type { TableRows, Tables } from "../tables.ts";

const keyOf = ({ width, from, queue, typeName, deployment, reporterId }: BucketKey): string =>
  JSON.stringify([width, from, queue, typeName, deployment, reporterId]);

export const writeReport = (
  tables: Tables,
  { reporter, rollups, causes, maxAgeMs }: ReportCall,
  now: number,
): number => {
  tables.change("reporters", (rows) => rows.set(reporter.id, { ...reporter, seenAt: now }));
  const recent = rollups.filter(({ from }) => from >= now - maxAgeMs);
  if (recent.length > 0)
    tables.change("rollups", (rows) => {
      for (const rollup of recent) rows.set(keyOf(rollup), { ...rollup });
    });
  if (causes.length > 0)
    tables.change("causes", (rows) => {
      for (const cause of causes) {
        const known = rows.get(cause.fingerprint) ?? { ...cause, firstSeenAt: now };
        rows.set(cause.fingerprint, { ...known, lastSeenAt: now });
      }
    });
  return now;
};

export const listProcesses = (
  reporters: TableRows["reporters"],
  { seenFrom, limit }: ListProcessesCall,
): StateProcess[] =>
  [...reporters.values()]
    .filter(({ seenAt }) => seenAt >= seenFrom)
    .sort((a, b) => b.seenAt - a.seenAt || byBytes(a.id, b.id))
    .slice(0, limit);

const isOneOf = (wanted: readonly string[] | undefined, value: string): boolean =>
  wanted === undefined || wanted.includes(value);

const byKey = (a: BucketKey, b: BucketKey): number =>
  a.from - b.from ||
  byBytes(a.queue, b.queue) ||
  byBytes(a.typeName, b.typeName) ||
  byBytes(a.deployment, b.deployment) ||
  byBytes(a.reporterId, b.reporterId);

export const readBuckets = (
  rollups: TableRows["rollups"],
  { width, from, before, queues, typeNames, limit }: ReadBucketsCall,
): StatisticsBucket[] =>
  [...rollups.values()]
    .filter((rollup) => rollup.width === width && rollup.from >= from && rollup.from < before)
    .filter((rollup) => isOneOf(queues, rollup.queue) && isOneOf(typeNames, rollup.typeName))
    .sort(byKey)
    .slice(0, limit);

export const rollUpBuckets = (tables: Tables, { remove, put }: RollUpBucketsCall): boolean => {
  const { rollups } = tables.rows();
  const removed = new Set(remove.map(keyOf));
  const areUnchanged = remove.every((rollup) => rollups.get(keyOf(rollup))?.counts === rollup.counts);
  const areFree = put.every((rollup) => removed.has(keyOf(rollup)) || !rollups.has(keyOf(rollup)));
  if (!areUnchanged || !areFree) return false;
  tables.change("rollups", (rows) => {
    for (const key of removed) rows.delete(key);
    for (const rollup of put) rows.set(keyOf(rollup), { ...rollup });
  });
  return true;
};

const hasJob = (view: StoreView, fingerprint: string): boolean => {
  const [job] = filtered(view, { statuses: ["failed"], fingerprints: [fingerprint] });
  return job !== undefined;
};

export const deleteOldReports = (
  tables: Tables,
  view: StoreView,
  { reportersBefore, causesBefore, rollups: bounds, limit }: DeleteOldReportsCall,
): number => {
  const { reporters, rollups, causes } = tables.rows();
  const isOld = (rollup: StatisticsBucket): boolean =>
    bounds.some(({ width, before }) => rollup.width === width && rollup.from < before);
  const silent = [...reporters.values()].filter(({ seenAt }) => seenAt < reportersBefore).slice(0, limit);
  const old = [...rollups.values()].filter(isOld).slice(0, limit - silent.length);
  const unseen = [...causes.values()]
    .filter(({ lastSeenAt }) => lastSeenAt < causesBefore)
    .filter(({ fingerprint }) => !hasJob(view, fingerprint))
    .slice(0, limit - silent.length - old.length);
  if (silent.length > 0)
    tables.change("reporters", (rows) => {
      for (const { id } of silent) rows.delete(id);
    });
  if (old.length > 0)
    tables.change("rollups", (rows) => {
      for (const rollup of old) rows.delete(keyOf(rollup));
    });
  if (unseen.length > 0)
    tables.change("causes", (rows) => {
      for (const { fingerprint } of unseen) rows.delete(fingerprint);
    });
  return silent.length + old.length + unseen.length;
};
