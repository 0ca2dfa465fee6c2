/** For type tests: `export type Tests = [Expect<Equal<A, B>>]` compiles only if the compiler holds A and B identical. */
export type Expect<T extends true> = T;

export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
