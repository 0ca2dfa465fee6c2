import { InvalidOptionError } from "../base/errors.ts";
import { requireArray } from "../base/options.ts";
import { type AnyJobTypes, createJobTypes, type JobTypes } from "./define.ts";
import type { RuntimeJobType } from "./options.ts";

/** What the compiler holds of job types: `DefinitionsOf<typeof jobTypes>`. */
export type DefinitionsOf<TJobTypes extends AnyJobTypes> = NonNullable<TJobTypes["~definitions"]>;

type NamesOf<TJobTypes> = TJobTypes extends AnyJobTypes ? keyof DefinitionsOf<TJobTypes> : never;

/** Each part as it is, or a sentence in place of a part with names that an earlier part has. */
type WithoutDuplicates<TParts extends readonly unknown[], TSeen = never> = TParts extends readonly [
  infer TFirst,
  ...infer TRest,
]
  ? [CheckedNames<TFirst, NamesOf<TFirst> & TSeen>, ...WithoutDuplicates<TRest, TSeen | NamesOf<TFirst>>]
  : TParts;

type CheckedNames<TPart, TDuplicates> = [TDuplicates] extends [never]
  ? TPart
  : `job type "${TDuplicates & string}" is defined twice`;

type UnionToIntersection<T> = (T extends unknown ? (value: T) => void : never) extends (
  value: infer TIntersection,
) => void
  ? TIntersection
  : never;

type Merged<TParts extends readonly AnyJobTypes[]> =
  UnionToIntersection<{ [I in keyof TParts]: DefinitionsOf<TParts[I]> }[number]> extends infer TAll
    ? { [K in keyof TAll]: TAll[K] }
    : never;

/**
 * Job types of several modules as those of one application:
 *
 *     export const jobTypes = mergeJobTypes(mailJobTypes, billingJobTypes);
 *
 * A name that two of them define is an error of the compiler, and at run time. Types that continue with each other or wait for
 * each other belong into one module.
 *
 * @throws {InvalidOptionError} for a name that is defined twice.
 */
export const mergeJobTypes = <const TParts extends readonly AnyJobTypes[]>(
  ...parts: TParts & WithoutDuplicates<TParts>
): JobTypes<Merged<TParts>> => {
  const definitions = new Map<string, RuntimeJobType>();
  const given = requireArray(parts, "jobTypes") as readonly AnyJobTypes[];
  for (const [index, part] of given.entries()) {
    if (!(part?.definitions instanceof Map))
      throw new InvalidOptionError(
        `jobTypes[${index}]`,
        "must come from defineJobTypes or defineUnionJobTypes",
        part,
      );
    for (const [name, definition] of part.definitions) {
      if (definitions.has(name))
        throw new InvalidOptionError(`jobTypes[${index}]`, "must not define a type again", name);
      definitions.set(name, definition);
    }
  }
  return createJobTypes(
    given.some(({ acceptsAnyName }) => acceptsAnyName),
    definitions,
  );
};
