import { linkBlockers } from "../engine/trace.ts";
import { viewJob } from "../engine/view.ts";
import { decodePayload } from "../model/codec.ts";
import type { StateSequence } from "../model/job.ts";
import type { BatchMember } from "./batch-member.ts";
import { getBlockers, validateInput } from "./run-handler.ts";
import type { WorkerContext } from "./worker-context.ts";

/**
 * Reads what the handler is to be given. Ends the attempts at jobs that cannot be read or are no longer held; the others
 * go on. A promise only where something has to be waited for.
 */
export const readBatch = (
  { engine }: WorkerContext,
  members: readonly BatchMember[],
): Promise<void> | undefined => {
  const { typeName } = members[0]!.held.job;
  const hasSchema = engine.jobTypes.get(typeName).input !== undefined;
  const stored = new Map<BatchMember, unknown>();
  for (const member of members) {
    endIfItThrows(member, () =>
      stored.set(member, decodePayload(engine.codec, member.held.job.input, "input")),
    );
  }
  if (hasSchema || members.some(({ held }) => held.job.blockerCount > 0)) {
    return readSlowly([...stored.keys()], stored);
  }
  for (const [member, input] of stored) member.view = viewJob(engine, member.held.job, [], input);
  return undefined;
};

const readSlowly = async (
  members: readonly BatchMember[],
  stored: ReadonlyMap<BatchMember, unknown>,
): Promise<void> => {
  let blockers: ReadonlyMap<BatchMember, readonly StateSequence[]>;
  try {
    blockers = await readBlockersOfAll(members);
  } catch (error) {
    const shared = members.length > 1;
    for (const member of members) member.settle({ kind: "threw", error, shared });
    return;
  }
  await Promise.all(
    members.map(async (member) => {
      const { engine } = member.worker;
      try {
        const { input } = engine.jobTypes.get(member.held.job.typeName);
        const value = input ? await validateInput(member, stored.get(member)) : stored.get(member);
        member.view = viewJob(engine, member.held.job, blockers.get(member) ?? [], value);
      } catch (error) {
        member.settle({ kind: "threw", error });
      }
    }),
  );
};

const readBlockersOfAll = async (
  members: readonly BatchMember[],
): Promise<ReadonlyMap<BatchMember, readonly StateSequence[]>> => {
  const blocked = members.filter(({ held }) => held.job.blockerCount > 0);
  if (blocked.length === 0) return new Map();
  const { store } = blocked[0]!.worker.engine;
  const jobIds = blocked.map(({ held }) => held.job.id);
  const found = await getBlockers(store, jobIds);
  for (const [index, { held }] of blocked.entries()) {
    if (held.span && found[index]!.length > 0) linkBlockers(held.span, found[index]!);
  }
  return new Map(blocked.map((member, index) => [member, found[index]!]));
};

const endIfItThrows = (member: BatchMember, read: () => void): void => {
  try {
    read();
  } catch (error) {
    member.settle({ kind: "threw", error });
  }
};
