import type { RecurringJob } from "../../api/recurring.ts";
import type { StateRecurringJob } from "../../contracts/state-adapter.ts";
import { decodePayload } from "../../model/codec.ts";
import { readRecord } from "../../model/recurrence/tick-record.ts";
import type { Engine } from "../engine.ts";
import { readDefinition } from "./definition.ts";

const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

export const viewRecurringJob = (engine: Engine, row: StateRecurringJob): RecurringJob<string> => {
  const { times, policies, job } = readDefinition(row.id, row.definition);
  const { counts, recent, waiting } = readRecord(row.record);
  const isCron = "cron" in times;
  return {
    id: row.id,
    version: row.version,
    cron: isCron ? times.cron : null,
    timeZone: isCron ? times.timeZone : null,
    everyMs: isCron ? null : times.everyMs,
    anchorAt: isCron ? null : new Date(times.anchorAt),
    startAt: date(times.startAt),
    endAt: date(times.endAt),
    ...policies,
    job: {
      typeName: job.typeName,
      input: decodePayload(engine.codec, job.input, "input"),
      queue: job.queue,
      priority: job.priority,
      maxAttempts: job.maxAttempts,
      timeoutMs: job.timeoutMs,
      group: job.group,
      expireAfterMs: job.expireAfterMs ?? null,
    },
    paused: row.paused,
    owner: row.owner,
    nextAt: row.paused ? null : date(row.nextNominalAt),
    waitingFor: date(waiting?.nominalAt ?? null),
    lastSequenceId: row.lastSequenceId,
    counts,
    recent: recent.map(({ nominalAt, at, ...tick }) => ({
      ...tick,
      nominalAt: new Date(nominalAt),
      at: new Date(at),
    })),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
};
