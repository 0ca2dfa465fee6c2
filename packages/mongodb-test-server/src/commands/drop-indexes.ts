import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import type { Collection } from "../storage/collection.ts";
import type { Command } from "./command.ts";
import { untilUnused } from "./catalog-lock.ts";
import { collectionName } from "./fields.ts";

const findNames = (collection: Collection, wanted: Value): string[] => {
  if (wanted === "*") return [...collection.indexes.keys()].filter((name) => name !== "_id_");
  const list: readonly Value[] = Array.isArray(wanted) ? wanted : [wanted];
  return list.map((item) => {
    for (const { definition } of collection.indexes.values()) {
      const isMeant = isDocument(item)
        ? compareValues(definition.spec["key"], item) === 0
        : definition.name === item;
      if (isMeant) return definition.name;
    }
    throw new CommandError("IndexNotFound", `index not found with name [${String(item)}]`);
  });
};

export const dropIndexes: Command = {
  kind: "write",
  fields: ["index"],
  run: async (context) => {
    const { server, database, command } = context;
    const collection = server.catalog.find(database, collectionName(context), undefined);
    if (collection === undefined) throw new CommandError("NamespaceNotFound", "ns not found");
    await untilUnused(context, collection);
    const nIndexesWas = collection.indexes.size;
    const names = findNames(collection, command["index"]);
    if (names.includes("_id_")) throw new CommandError("InvalidOptions", "cannot drop _id index");
    for (const name of names) collection.indexes.delete(name);
    return { nIndexesWas, ok: 1 };
  },
};
