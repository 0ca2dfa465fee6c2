import { describeActions } from "../testing/action-suite.ts";
import { sqlite } from "../testing/stores.ts";

// The others are tried by `npm run test:dashboard`.
describeActions(sqlite());
