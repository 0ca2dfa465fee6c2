import type { JsonCompatible } from "./checks.ts";
import type { Expect } from "./type-equality.test-d.ts";

type Fits<T> = T extends JsonCompatible<T> ? true : false;

type Refused<T> = Fits<T> extends true ? false : true;

interface Address {
  street: string;
  number?: number;
}

interface Tree {
  value: number;
  children: Tree[];
  parent?: Tree;
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

declare const brand: unique symbol;

class Money {
  readonly cents: number = 0;
  plus(other: Money): Money {
    return other;
  }
}

export type Accepted = [
  Expect<Fits<string>>,
  Expect<Fits<null>>,
  Expect<Fits<true | 3 | "x">>,
  Expect<Fits<`id-${string}`>>,
  Expect<Fits<{}>>,
  Expect<Fits<Address>>,
  Expect<Fits<{ readonly addresses: readonly Address[]; byName: Record<string, Address> }>>,
  Expect<Fits<[string, Address?]>>,
  Expect<Fits<{ a?: string; b?: string | undefined; c: string | undefined }>>,
  Expect<Fits<[string, ...number[]]>>,
  Expect<Fits<Tree>>,
  Expect<Fits<Json>>,
  Expect<Fits<unknown>>,
  Expect<Fits<{ a: unknown; b?: unknown; c: unknown[] }>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- `any` is the case under test
  Expect<Fits<{ a: any; b: any[] }>>,
  Expect<Fits<string & { readonly [brand]: "UserId" }>>,
  Expect<Fits<{ id: string } & { readonly [brand]: "User" }>>,
  Expect<Fits<{ kind: "a"; a: string } | { kind: "b"; b: number }>>,
  Expect<Fits<never>>,
];

export type Refusals = [
  Expect<Refused<Date>>,
  Expect<Refused<bigint>>,
  Expect<Refused<symbol>>,
  Expect<Refused<undefined>>,
  Expect<Refused<() => void>>,
  Expect<Refused<Map<string, string>>>,
  Expect<Refused<Set<string>>>,
  Expect<Refused<Uint8Array>>,
  Expect<Refused<Money>>,
  Expect<Refused<{ at: Date }>>,
  Expect<Refused<{ at?: Date }>>,
  Expect<Refused<{ list: { deep: { at: Date | null }[] } }>>,
  Expect<Refused<(string | undefined)[]>>,
  Expect<Refused<[undefined]>>,
  Expect<Refused<{ a: string } | { b: bigint }>>,
  Expect<Refused<Record<string, Date>>>,
];
