import { CommandError } from "../errors.ts";
import type { Document } from "../bson-values/types.ts";
import { createListSource } from "../cursors/list-source.ts";
import { matches } from "../query/matches.ts";
import { parseFilter } from "../query/parse.ts";
import type { Collection } from "../storage/collection.ts";
import type { Command, CommandContext } from "./command.ts";
import { untilUnused } from "./catalog-lock.ts";
import { batchSizeOf, openCursor } from "./cursor-reply.ts";
import { checkCollation, collectionName, documentField, flagField } from "./fields.ts";
import { whenFree } from "./write-batch.ts";

const create: Command = {
  kind: "write",
  inTransactions: true,
  fields: ["validator", "validationLevel", "validationAction", "collation", "changeStreamPreAndPostImages"],
  run: (context) => {
    const { server, database, command, transaction } = context;
    const name = collectionName(context);
    checkCollation(command);
    const validator = documentField(command, "validator");
    return whenFree(context, () => {
      if (server.catalog.find(database, name, transaction) !== undefined) {
        throw new CommandError("NamespaceExists", `Collection ${database}.${name} already exists.`);
      }
      server.catalog.create(database, name, validator === undefined ? {} : { validator }, transaction);
      return { ok: 1 };
    });
  },
};

const remove = async (context: CommandContext, collection: Collection): Promise<void> => {
  await untilUnused(context, collection);
  context.server.catalog.remove(collection);
};

const logDrop = (
  { server, database }: CommandContext,
  operation: "drop" | "dropDatabase",
  collection: string,
): void => {
  const wallTime = server.store.now();
  server.store.log({ operation, database, collection, before: undefined, after: undefined, wallTime });
};

const drop: Command = {
  kind: "write",
  fields: [],
  run: async (context) => {
    const { server, database } = context;
    const collection = server.catalog.find(database, collectionName(context), undefined);
    if (collection === undefined) return { ok: 1 };
    await remove(context, collection);
    logDrop(context, "drop", collection.name);
    return { nIndexesWas: collection.indexes.size, ns: `${database}.${collection.name}`, ok: 1 };
  },
};

const dropDatabase: Command = {
  kind: "write",
  fields: [],
  run: async (context) => {
    const { server, database } = context;
    const collections = server.catalog.collections(database);
    for (const collection of collections) {
      await remove(context, collection);
      logDrop(context, "drop", collection.name);
    }
    if (collections.length > 0) logDrop(context, "dropDatabase", "");
    return { ...(collections.length > 0 ? { dropped: database } : {}), ok: 1 };
  },
};

const describe = ({ name, options, uuid }: Collection, nameOnly: boolean): Document =>
  nameOnly
    ? { name, type: "collection" }
    : {
        name,
        type: "collection",
        options,
        info: { readOnly: false, uuid },
        idIndex: { v: 2, key: { _id: 1 }, name: "_id_" },
      };

const listCollections: Command = {
  kind: "read",
  fields: ["filter", "nameOnly", "authorizedCollections", "cursor"],
  run: (context) => {
    const { server, database, command, variables } = context;
    const filter = parseFilter(documentField(command, "filter") ?? {});
    const all = server.catalog.collections(database);
    const found = all
      .filter((collection) => matches(filter, describe(collection, false), variables))
      .map((collection) => describe(collection, flagField(command, "nameOnly")));
    const source = createListSource(found, true);
    return openCursor(context, `${database}.$cmd.listCollections`, source, {
      batchSize: batchSizeOf(command),
    });
  },
};

const listDatabases: Command = {
  kind: "read",
  fields: ["filter", "nameOnly", "authorizedDatabases"],
  run: ({ server, command, variables }) => {
    const filter = parseFilter(documentField(command, "filter") ?? {});
    const databases = server.catalog
      .databases()
      .map((name) => ({ name, sizeOnDisk: 0, empty: false }))
      .filter((database) => matches(filter, database, variables));
    return { databases, totalSize: 0, totalSizeMb: 0, ok: 1 };
  },
};

export const collectionCommands: Readonly<Record<string, Command>> = {
  create,
  drop,
  dropDatabase,
  listCollections,
  listDatabases,
};
