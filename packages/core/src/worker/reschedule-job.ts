import { RescheduleJobError } from "../errors.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import type { ScheduleOptions } from "../model/schedule.ts";

/** Ends the attempt and puts the job back for later. It costs no attempt; `cause` is kept as the job's last error. */
export const rescheduleJob = (schedule: ScheduleOptions, cause?: unknown): never => {
  parseSchedule(schedule);
  throw new RescheduleJobError(schedule, cause === undefined ? undefined : { cause });
};
