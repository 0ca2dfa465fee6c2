import { describeActions } from "../action-suite.ts";
import { describeOperations } from "../operate-suite.ts";
import { describePages } from "../page-suite.ts";
import { inProcess, postgres, sqlite } from "../stores.ts";

for (const store of [inProcess, sqlite, postgres]) {
  describePages(store(), { thorough: true });
  describeActions(store());
  describeOperations(store(), { thorough: true });
}
