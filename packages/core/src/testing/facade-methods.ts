type AnyFunction = (...args: unknown[]) => unknown;

/** All methods of a Leasehold by name, those of its namespaces as `jobs.get`, callable with any arguments. */
export const facadeMethods = (leasehold: object): Record<string, AnyFunction> =>
  Object.fromEntries(
    Object.entries(leasehold).flatMap(([name, member]: [string, AnyFunction | object]) =>
      typeof member === "function"
        ? [[name, member as AnyFunction]]
        : Object.entries(member as Record<string, AnyFunction>).map(
            ([inner, method]): [string, AnyFunction] => [`${name}.${inner}`, method],
          ),
    ),
  );
