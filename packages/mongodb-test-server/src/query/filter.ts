import type { Expression } from "../expressions/scope.ts";
import type { TypeName, Value } from "../bson-values/types.ts";

/** A filter after parsing: what the matcher evaluates and the planner reads bounds from. */
export type Filter =
  | { readonly kind: "and" | "or" | "nor"; readonly filters: readonly Filter[] }
  | { readonly kind: "expression"; readonly expression: Expression }
  | { readonly kind: "constant"; readonly value: boolean }
  | FieldFilter;

export interface FieldFilter {
  readonly kind: "field";
  readonly path: string;
  readonly parts: readonly string[];
  readonly test: FieldTest;
}

export type Comparison = "lt" | "lte" | "gt" | "gte";

export type FieldTest =
  | { readonly operator: "eq"; readonly value: Value }
  | { readonly operator: Comparison; readonly value: Value }
  | { readonly operator: "in"; readonly values: readonly Value[]; readonly patterns: readonly RegExp[] }
  | { readonly operator: "exists" }
  | { readonly operator: "type"; readonly types: ReadonlySet<TypeName> }
  | { readonly operator: "size"; readonly size: number }
  | { readonly operator: "mod"; readonly divisor: number; readonly remainder: number }
  | { readonly operator: "regex"; readonly pattern: RegExp }
  | { readonly operator: "elementDocument"; readonly filter: Filter }
  | { readonly operator: "elementValue"; readonly tests: readonly FieldTest[] }
  | { readonly operator: "not"; readonly tests: readonly FieldTest[] };
