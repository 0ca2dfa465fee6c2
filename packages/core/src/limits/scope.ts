import { InvalidOptionError } from "../base/errors.ts";
import { type OptionNames, requireName } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { defaultQueue } from "../job-types/settings.ts";
import type { LimitRule, LimitScope } from "../store/contract/limits.ts";
import { QueueRequiredError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";

type Options = Record<string, unknown>;

export const scopeOptions: OptionNames = { queue: true, typeName: true };

const isEffective = ({ paused, concurrency, rate, perGroup, weights, groups }: LimitRule): boolean =>
  paused ||
  [concurrency, rate, perGroup].some((limit) => limit !== null) ||
  [weights, groups].some((byName) => Object.keys(byName).length > 0);

/**
 * The queue of a type of which this process has no settings, such as in the command line: the only one with unfinished jobs of
 * this type, or with a rule for it. Without either it is the queue of starts that name none.
 */
const findQueue = async (
  { store }: Engine,
  operation: string,
  ctx: object | undefined,
  typeName: string,
): Promise<string> => {
  const filter = { typeNames: [typeName], statuses: ["blocked", "pending", "running"] as const };
  const counts = await store.countJobs({ ctx, filter });
  const uses = await requirePart(store, "limits", operation).listRules({ ctx, queue: null });
  const ruled = uses.filter(({ rule }) => rule.typeName === typeName && isEffective(rule));
  const found = new Set([...counts, ...ruled.map(({ rule }) => rule)].map(({ queue }) => queue));
  if (found.size > 1) throw new QueueRequiredError(typeName, [...found].sort());
  const [queue = defaultQueue] = found;
  return queue;
};

/** A type has to be named if `typeName` is required; otherwise a queue is enough. */
export const parseScope = async (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  { queue, typeName }: Options,
): Promise<LimitScope> => {
  if (typeName === undefined) {
    if (queue === undefined) throw new InvalidOptionError("queue", "or `typeName` is required");
    return { queue: requireName(queue, "queue"), typeName: null };
  }
  const name = requireName(typeName, "typeName");
  const type = engine.jobTypes.get(name);
  if (queue !== undefined) return { queue: requireName(queue, "queue"), typeName: name };
  if (engine.jobTypes.known.has(name)) return { queue: type.queue ?? defaultQueue, typeName: name };
  return { queue: await findQueue(engine, operation, ctx, name), typeName: name };
};

export const parseTypeScope = async (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  options: Options,
): Promise<LimitScope & { readonly typeName: string }> => {
  const typeName = requireName(options["typeName"], "typeName");
  return { ...(await parseScope(engine, operation, ctx, options)), typeName };
};
