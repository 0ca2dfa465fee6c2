import { withIdFirst } from "../update/upsert.ts";
import { checkDocument } from "./check-document.ts";
import type { Command } from "./command.ts";
import { collectionName, documentList } from "./fields.ts";
import { runWriteBatch } from "./write-batch.ts";

export const insert: Command = {
  kind: "write",
  inTransactions: true,
  fields: ["documents", "ordered", "bypassDocumentValidation"],
  run: (context) => {
    const { server, database, command, transaction } = context;
    const documents = documentList(command, "documents");
    const name = collectionName(context);
    return runWriteBatch(context, documents.length, async (index) => {
      const document = withIdFirst(documents[index] ?? {});
      const collection = server.catalog.open(database, name, transaction);
      checkDocument(context, collection, document, "insert");
      server.store.insert(collection, document, transaction);
      return { n: 1 };
    });
  },
};
