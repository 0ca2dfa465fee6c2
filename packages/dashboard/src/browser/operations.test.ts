import { describeOperations } from "../testing/operate-suite.ts";
import { sqlite } from "../testing/stores.ts";

// The others are tried by `npm run test:dashboard`.
describeOperations(sqlite());
