import type { StateSuites } from "../../state-suite.ts";

export const historySuites: StateSuites = {};
