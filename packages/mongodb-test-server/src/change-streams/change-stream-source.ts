import { CommandError, notImplemented } from "../errors.ts";
import type { Timestamp } from "bson";
import { equalValues } from "../bson-values/compare.ts";
import { fieldOf, isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileStage } from "../aggregate/stages.ts";
import type { PipelineContext } from "../aggregate/stage.ts";
import type { Batch, CursorSource } from "../cursors/cursors.ts";
import type { ServerState } from "../server-state.ts";
import type { LoggedChange } from "../storage/changes.ts";
import { entriesWithKey } from "../storage/unique-keys.ts";
import { latest, timestampToTick } from "../storage/ticks.ts";
import { visibleDocument } from "../storage/records.ts";
import { eventOf } from "./event.ts";
import { behindAll, parseToken, tokenOf } from "./resume-token.ts";
import type { LogPlace } from "./resume-token.ts";

export interface ChangeStreamTarget {
  /** Without them: all databases, or all collections. */
  readonly database: string | undefined;
  readonly collection: string | undefined;
}

const knownOptions = new Set([
  "fullDocument",
  "resumeAfter",
  "startAfter",
  "startAtOperationTime",
  "allChangesForCluster",
  "fullDocumentBeforeChange",
  "showExpandedEvents",
]);

const startOf = (server: ServerState, spec: Document): LogPlace => {
  for (const name of Object.keys(spec)) {
    if (!knownOptions.has(name)) throw notImplemented(`the change stream option ${name}`);
  }
  if (spec["showExpandedEvents"] === true) throw notImplemented("showExpandedEvents of change streams");
  const before = spec["fullDocumentBeforeChange"];
  if (before !== undefined && before !== "off")
    throw notImplemented("fullDocumentBeforeChange of change streams");
  const token = spec["resumeAfter"] ?? spec["startAfter"];
  if (token !== undefined) return parseToken(token);
  const time = spec["startAtOperationTime"];
  if (time !== undefined) return { tick: timestampToTick(time as Timestamp) - 1, position: behindAll };
  return { tick: server.store.time(), position: behindAll };
};

const lookUp = (server: ServerState, { database, collection, after }: LoggedChange): Document | null => {
  const found = server.catalog.find(database, collection, undefined);
  const index = found?.indexes.get("_id_");
  if (index === undefined || after === undefined) return null;
  for (const { record } of entriesWithKey(index, [fieldOf(after, "_id")])) {
    const document = visibleDocument(record, { transaction: undefined, at: latest });
    if (document !== undefined) return document;
  }
  return null;
};

const nonResumable = ["NonResumableChangeStreamError"];

/** Whoever reads a stream resumes with the `_id` of the last event: the pipeline must leave it alone. */
const checkToken = (event: Document, result: Document): void => {
  if (equalValues(event["_id"], result["_id"])) return;
  throw new CommandError(
    "ChangeStreamFatalError",
    "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline.",
    {},
    nonResumable,
  );
};

/** A dropped collection or database ends the streams on it. */
const endsStream = (change: LoggedChange, target: ChangeStreamTarget): boolean =>
  target.collection === undefined
    ? target.database !== undefined && change.operation === "dropDatabase"
    : change.operation === "drop";

const waitForChange = async (server: ServerState, ms: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([server.store.changes.next(), server.topology.changed(), timeout]);
  clearTimeout(timer);
};

export const createChangeStreamSource = (
  server: ServerState,
  target: ChangeStreamTarget,
  spec: Value,
  stages: readonly Value[],
  context: PipelineContext,
): CursorSource => {
  const options = isDocument(spec) ? spec : {};
  let place = startOf(server, options);
  const mode = options["fullDocument"];
  if (mode !== undefined && mode !== "default" && mode !== "updateLookup") {
    throw notImplemented(`fullDocument: ${JSON.stringify(mode)}`);
  }
  const fullDocument = mode === "updateLookup" ? mode : undefined;
  const compiled = stages.map((stage) => compileStage(stage));
  const throughStages = (event: Document): Document[] => {
    const results = compiled.reduce<Document[]>((events, stage) => stage(events, context), [event]);
    for (const result of results) checkToken(event, result);
    return results;
  };
  let isOver = false;

  const isWatched = (change: LoggedChange): boolean =>
    (target.database === undefined || change.database === target.database) &&
    (target.collection === undefined ||
      change.collection === target.collection ||
      change.operation === "dropDatabase");

  const read = (size: number): Document[] => {
    const changes = server.store.changes.after(place.tick, place.position);
    if (changes === undefined) {
      throw new CommandError(
        "ChangeStreamHistoryLost",
        "Resume of change stream was not possible, as the resume point may no longer be in the oplog.",
        {},
        nonResumable,
      );
    }
    const events: Document[] = [];
    for (const change of changes) {
      if (events.length >= size || isOver) break;
      place = { tick: change.tick, position: change.position };
      if (!isWatched(change)) continue;
      const event = eventOf(change, { lookUp: (update) => lookUp(server, update), fullDocument });
      events.push(...throughStages(event));
      if (endsStream(change, target)) {
        isOver = true;
        events.push({
          _id: tokenOf({ ...place, position: place.position + 1 }),
          operationType: "invalidate",
          clusterTime: event["clusterTime"],
        });
      }
    }
    return events;
  };

  return {
    isChangeStream: true,
    next: async (size, waitMs): Promise<Batch> => {
      const end = performance.now() + waitMs;
      let events = size === 0 ? [] : read(size);
      while (events.length === 0 && performance.now() < end && server.topology.isPrimary()) {
        await waitForChange(server, end - performance.now());
        events = read(size);
      }
      // Everything up to now has been seen: nobody has to look at it again after a resume.
      if (events.length === 0 && place.tick < server.store.time())
        place = { tick: server.store.time(), position: behindAll };
      return { documents: events, isExhausted: isOver, postBatchResumeToken: tokenOf(place) };
    },
  };
};
