export type FindingStatus = "ok" | "warning" | "problem";

/** What one check came to. */
export interface Finding {
  readonly check: string;
  readonly status: FindingStatus;
  readonly summary: string;
  /** What to do about it; absent when all is well. */
  readonly advice?: string;
}

export type Check = () => Promise<readonly Finding[]>;

export const ok = (check: string, summary: string): Finding => ({ check, status: "ok", summary });

export const warning = (check: string, summary: string, advice: string): Finding => ({
  check,
  status: "warning",
  summary,
  advice,
});

export const problem = (check: string, summary: string, advice: string): Finding => ({
  check,
  status: "problem",
  summary,
  advice,
});

/** A check that cannot be made, for want of rights or a setting, is no reason to give up the others. */
export const attempt = async (check: string, run: Check): Promise<readonly Finding[]> => {
  try {
    return await run();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [
      warning(check, `This could not be checked: ${text}`, "Run doctor as a user with the rights to look."),
    ];
  }
};
