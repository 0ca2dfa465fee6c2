import type { StateSuites } from "../../state-suite.ts";
import { describeKeptAttempts } from "./attempts-kept.ts";
import { describeInterruptedAttempts } from "./attempts-interrupted.ts";
import { describeAttemptsOfLostLeases } from "./attempts-of-lost-leases.ts";
import { describeAttemptsOfOutcomes } from "./attempts-of-outcomes.ts";
import { describeCauses } from "./causes.ts";
import { describeFolds } from "./roll-ups.ts";
import { describeHistoryRaces } from "./history-races.ts";
import { describeHostileText } from "./hostile-text.ts";
import { describeReports } from "./reports.ts";

export const historySuites: StateSuites = {
  "attempts that end with an outcome": describeAttemptsOfOutcomes,
  "attempts that another call ends": describeInterruptedAttempts,
  "attempts whose lease ran out": describeAttemptsOfLostLeases,
  "attempts that are kept": describeKeptAttempts,
  causes: describeCauses,
  reports: describeReports,
  folds: describeFolds,
  "races in the history": describeHistoryRaces,
  "hostile text in the history": describeHostileText,
};
