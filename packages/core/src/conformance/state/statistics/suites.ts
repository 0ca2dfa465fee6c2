import type { StateSuites } from "../../state-suite.ts";
import { describeListRecentlyFinished } from "./list-recently-finished.ts";
import { describeMeasureBacklog } from "./measure-backlog.ts";

export const statisticsSuites: StateSuites = {
  measureBacklog: describeMeasureBacklog,
  listRecentlyFinished: describeListRecentlyFinished,
};
