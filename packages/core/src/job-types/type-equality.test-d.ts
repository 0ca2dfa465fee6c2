/** For type tests: `export type Tests = [Expect<Equal<A, B>>]` compiles only if the compiler holds A and B identical. */
export type Expect<T extends true> = T;

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a deferred condition is what is compared
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
