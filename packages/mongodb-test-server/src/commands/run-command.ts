import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, isStateChange } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import type { FailPointHit } from "../faults/fail-points.ts";
import type { ServerState } from "../server-state.ts";
import { labelsOf } from "../transactions/labels.ts";
import { execute, isEndOfTransaction, isInTransaction } from "./execute.ts";
import type { Request } from "./execute.ts";
import { commands } from "./registry.ts";
import { errorReply, withState, withTimes } from "./reply.ts";

/** The reply, or that the connection is cut instead. */
export type Outcome = Document | "cut";

const labels = (request: Request, code: number | undefined, concernError: Document | undefined): string[] => {
  const { document } = request;
  const concernCode = concernError?.["code"];
  return labelsOf({
    code,
    writeConcernCode: isNumeric(concernCode) ? toNumber(concernCode) : undefined,
    isInTransaction: isInTransaction(request),
    isCommitOrAbort: isEndOfTransaction(request),
    isRetryableWrite: "txnNumber" in document && !isInTransaction(request),
  });
};

const failureOf = (server: ServerState, request: Request, error: unknown): Document => {
  if (error instanceof CommandError) {
    const all = new Set([...labels(request, error.code, undefined), ...error.labels]);
    return withState(server, errorReply(error, [...all]), error.code);
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return errorReply(new CommandError("InternalError", `the test server failed: ${text}`), []);
};

const answer = async (
  server: ServerState,
  request: Request,
  hit: FailPointHit | undefined,
): Promise<Outcome> => {
  let isCut = false;
  const cutConnection = () => {
    isCut = true;
  };
  const reply = await attempt(server, request, hit, cutConnection);
  return isCut ? "cut" : reply;
};

const attempt = async (
  server: ServerState,
  request: Request,
  hit: FailPointHit | undefined,
  cutConnection: () => void,
): Promise<Document> => {
  const { name } = request;
  try {
    const definition = commands.get(name);
    if (definition === undefined) throw new CommandError("CommandNotFound", `no such command: '${name}'`);
    const reply = await execute(server, definition, request, cutConnection);
    const concernError = hit?.writeConcernError ?? reply["writeConcernError"];
    if (!isDocument(concernError)) return reply;
    const own = hit?.errorLabels ?? labels(request, undefined, concernError);
    return { ...reply, writeConcernError: concernError, ...(own.length > 0 ? { errorLabels: own } : {}) };
  } catch (error) {
    const reply = failureOf(server, request, error);
    return hit?.writeConcernError === undefined
      ? reply
      : { ...reply, writeConcernError: hit.writeConcernError };
  }
};

const hitFailPoint = (server: ServerState, { name, document }: Request, appName: string | undefined) =>
  server.failPoints.hit(
    "failCommand",
    (data) =>
      Array.isArray(data["failCommands"]) &&
      data["failCommands"].includes(name) &&
      (data["appName"] === undefined || data["appName"] === appName) &&
      name !== "configureFailPoint" &&
      document !== undefined,
  );

const failedBy = (request: Request, hit: FailPointHit, code: number): Document => {
  const error = new CommandError(code, "Failing command via 'failCommand' failpoint");
  return errorReply(error, hit.errorLabels ?? labels(request, code, undefined));
};

const runWithFailPoint = async (
  server: ServerState,
  request: Request,
  appName: string | undefined,
): Promise<Outcome> => {
  const hit = hitFailPoint(server, request, appName);
  if (hit !== undefined && hit.blockMs > 0) await sleep(hit.blockMs);
  if (hit?.closesConnection === true) return "cut";
  if (hit?.errorCode !== undefined) return failedBy(request, hit, hit.errorCode);
  return answer(server, request, hit);
};

/**
 * The server changes its state, refuses, and is at once as it was before. Without a second change to hear of, the driver
 * would send nothing until its next heartbeat.
 */
const refuseOnce = (server: ServerState, reply: Document, code: number): Document => {
  server.topology.renew();
  const refusal = withState(server, reply, code);
  server.topology.renew();
  return refusal;
};

/** Runs a command through everything that may go wrong with it. */
export const runCommand = async (
  server: ServerState,
  request: Request,
  appName: string | undefined,
): Promise<Outcome> => {
  const fault = server.faults.strike(request);
  if (fault?.kind === "cutBefore") return "cut";
  if (fault?.kind === "delayBefore") await sleep(fault.ms);
  if (fault?.kind === "stepDownBefore") server.stepDown(fault.ms);
  if (fault?.kind === "error") {
    const error = new CommandError(fault.code, fault.message ?? "a fault on demand");
    const reply = errorReply(error, fault.labels ?? labels(request, fault.code, undefined));
    return withTimes(server, isStateChange(fault.code) ? refuseOnce(server, reply, fault.code) : reply);
  }
  const outcome = await runWithFailPoint(server, request, appName);
  if (fault?.kind === "delayAfter") await sleep(fault.ms);
  if (fault?.kind === "stepDownAfter") server.stepDown(fault.ms);
  if (fault?.kind === "cutAfter" || fault?.kind === "stepDownAfter") return "cut";
  return outcome === "cut" ? outcome : withTimes(server, outcome);
};
