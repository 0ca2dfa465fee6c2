/** Which recurring job started a job, and for which time. */
export interface JobRecurrence {
  /** The id of the recurring job. */
  readonly id: string;
  /** The time it is for. The job may have been started later than that. */
  readonly nominalAt: Date;
  /** How many times before this one were missed and are not made up for, counted up to 1,000. */
  readonly missed: number;
}

/** As it is stored with the job. */
export const writeJobRecurrence = (id: string, nominalAt: number, missed: number): string =>
  JSON.stringify({ id, nominalAt, missed });

export const readJobRecurrence = (stored: string | null): JobRecurrence | null => {
  // A job that was stored before there were recurring jobs may lack it altogether.
  if (stored == null) return null;
  const { id, nominalAt, missed } = JSON.parse(stored) as { id: string; nominalAt: number; missed: number };
  return { id, nominalAt: new Date(nominalAt), missed };
};
