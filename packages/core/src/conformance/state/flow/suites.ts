import type { StateSuites } from "../../state-suite.ts";

export const flowSuites: StateSuites = {};
