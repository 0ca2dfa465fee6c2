export interface SharedAnswers {
  /** The answer to a question that somebody has asked a moment ago, or asks right now; else what `ask` brings. */
  get(question: string, ask: () => Promise<unknown>): Promise<unknown>;
}

export interface SharedAnswersOptions {
  /** For how long an answer serves others. */
  readonly keptMs: number;
  /** How many answers are kept. */
  readonly most: number;
}

/** Many people look at the same numbers: the store is asked for them once. */
export const createSharedAnswers = ({ keptMs, most }: SharedAnswersOptions): SharedAnswers => {
  const answers = new Map<string, Promise<unknown>>();
  return {
    get: (question, ask) => {
      const known = answers.get(question);
      if (known !== undefined) return known;
      const answer = ask();
      answers.set(question, answer);
      const forget = (): void => {
        if (answers.get(question) === answer) answers.delete(question);
      };
      // What failed is asked again by whoever comes next.
      answer.then(() => setTimeout(forget, keptMs).unref(), forget);
      const [oldest] = answers.keys();
      if (answers.size > most) answers.delete(oldest!);
      return answer;
    },
  };
};
