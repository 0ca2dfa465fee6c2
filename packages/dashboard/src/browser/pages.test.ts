import { describePages } from "../testing/page-suite.ts";
import { postgres } from "../testing/stores.ts";

// The others are looked at by `npm run test:dashboard`.
describePages(postgres(), { thorough: false });
