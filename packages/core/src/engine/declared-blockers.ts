import { InvalidOptionError } from "../errors.ts";
import type { Engine } from "./engine.ts";
import type { StateSequence } from "../model/job.ts";

/** Inside `startBlockers`: what is started there need not be read again to learn its type. */
export const rememberTypes = (
  engine: Engine,
  started: readonly { readonly sequence: StateSequence }[],
): void => {
  const types = engine.scope.getStore()?.startedTypes;
  if (types) for (const { sequence } of started) types.set(sequence.first.id, sequence.first.typeName);
};

/**
 * Checks that `startBlockers` returned what the job type declares: as many sequences, of these types, in this order. A
 * type that exists for the compiler only declares nothing at run time.
 */
export const requireDeclaredBlockers = async (
  engine: Engine,
  ctx: object,
  typeName: string,
  sequenceIds: readonly string[],
  startedTypes: ReadonlyMap<string, string>,
): Promise<void> => {
  const declared = engine.jobTypes.get(typeName).blockers;
  if (!declared) return;
  if (sequenceIds.length !== declared.length) {
    const names = declared.map((name) => `"${name}"`).join(", ");
    throw new InvalidOptionError(
      "startBlockers",
      `must return as many sequences as job type "${typeName}" has blockers (${names})`,
      sequenceIds.length,
    );
  }
  const others = sequenceIds.filter((id) => !startedTypes.has(id));
  const found = others.length === 0 ? [] : await engine.store.getSequences({ ctx, sequenceIds: others });
  const otherTypes = new Map(others.map((id, index) => [id, found[index]?.first.typeName]));
  for (const [index, id] of sequenceIds.entries()) {
    const actual = startedTypes.get(id) ?? otherTypes.get(id);
    // The store refuses one that does not exist.
    if (actual === undefined || actual === declared[index]) continue;
    throw new InvalidOptionError(
      `startBlockers[${index}]`,
      `must be a sequence of type "${declared[index]}", which job type "${typeName}" waits for`,
      actual,
    );
  }
};
