import { initial } from "./0001-initial.ts";
import type { Migration } from "./migrate.ts";

/** In the order in which they run. A migration that was released is never changed; a change is a new one. */
export const migrations: readonly Migration[] = [initial];
