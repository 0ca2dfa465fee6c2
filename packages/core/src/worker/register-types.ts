import { jsonCodec } from "../base/codec.ts";
import type { Engine } from "../engine/engine.ts";
import { resolveJobSettings } from "../job-types/settings.ts";
import { actionTypeName, type StateJobType } from "../store/contract/job.ts";

const describeType = (engine: Engine, typeName: string): StateJobType => {
  const type = engine.jobTypes.get(typeName);
  const {
    group: _group,
    maxAttemptsGiven: _given,
    ...settings
  } = resolveJobSettings({}, type, engine.defaults);
  return {
    ...settings,
    typeName,
    needsGroup: type.group !== undefined || settings.ordered !== null,
    startable: type.internal !== true && (type.blockers ?? []).length === 0 && engine.codec === jsonCodec,
    maxPayloadBytes: engine.maxPayloadBytes,
  };
};

const registered = new WeakMap<Engine, Set<string>>();

/** Stores the types of a worker and all others that are defined, each once in the life of the instance. Never rejects. */
export const registerTypes = async (engine: Engine, typeNames: readonly string[]): Promise<void> => {
  const known = registered.get(engine) ?? new Set([actionTypeName]);
  registered.set(engine, known);
  const names = [...new Set([...engine.jobTypes.known.keys(), ...typeNames])].filter(
    (name) => !known.has(name),
  );
  if (names.length === 0) return;
  for (const name of names) known.add(name);
  try {
    await engine.store.registerJobTypes?.(names.map((name) => describeType(engine, name)));
  } catch {
    // Dispatch has reported the error. The next worker of this instance tries again.
    for (const name of names) known.delete(name);
  }
};
