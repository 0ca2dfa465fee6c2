import { administrationCommands } from "./administration.ts";
import { aggregate } from "./aggregate.ts";
import { collectionCommands } from "./collections.ts";
import type { Command } from "./command.ts";
import { count } from "./count.ts";
import { createIndexes } from "./create-indexes.ts";
import { deleteCommand } from "./delete.ts";
import { distinct } from "./distinct.ts";
import { dropIndexes } from "./drop-indexes.ts";
import { abortTransaction, commitTransaction } from "./end-transaction.ts";
import { explain } from "./explain.ts";
import { findAndModify } from "./find-and-modify.ts";
import { find } from "./find.ts";
import { getMore } from "./get-more.ts";
import { hello } from "./hello.ts";
import { insert } from "./insert.ts";
import { killCursors } from "./kill-cursors.ts";
import { listIndexes } from "./list-indexes.ts";
import { sessionCommands } from "./sessions.ts";
import { update } from "./update.ts";

export const commands: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    ...administrationCommands,
    ...collectionCommands,
    ...sessionCommands,
    aggregate,
    count,
    createIndexes,
    delete: deleteCommand,
    distinct,
    dropIndexes,
    abortTransaction,
    commitTransaction,
    explain,
    findAndModify,
    findandmodify: findAndModify,
    find,
    getMore,
    hello,
    isMaster: hello,
    ismaster: hello,
    insert,
    killCursors,
    listIndexes,
    update,
  }),
);
