import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric } from "../bson-values/numbers.ts";
import { fieldOf, isDocument, setField } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileExpression } from "../expressions/compile.ts";
import { isTrue } from "../expressions/scope.ts";
import type { Expression } from "../expressions/scope.ts";
import type { Variables } from "./matches.ts";

export type Projection = (document: Document, variables: Variables) => Document;

type Leaf = { readonly keep: boolean } | { readonly compute: Expression };
interface Tree {
  readonly fields: Map<string, Tree | Leaf>;
}

const isTree = (node: Tree | Leaf): node is Tree => "fields" in node;
const newTree = (): Tree => ({ fields: new Map() });

const leafOf = (path: string, value: Value): Leaf => {
  if (typeof value === "boolean" || isNumeric(value)) return { keep: isTrue(value) };
  const [operator] = isDocument(value) ? Object.keys(value) : [];
  if (operator === "$slice" || operator === "$elemMatch" || operator === "$meta") {
    throw notImplemented(`the projection operator ${operator}`);
  }
  if (path.split(".").includes("$")) throw notImplemented("the positional projection");
  return { compute: compileExpression(value) };
};

const insert = (tree: Tree, parts: readonly string[], leaf: Leaf): void => {
  const [first = "", ...rest] = parts;
  if (rest.length === 0) {
    tree.fields.set(first, leaf);
    return;
  }
  const existing = tree.fields.get(first);
  const inner = existing !== undefined && isTree(existing) ? existing : newTree();
  tree.fields.set(first, inner);
  insert(inner, rest, leaf);
};

/** `{ a: { b: 1 } }` means the same as `{ "a.b": 1 }`. */
const flatten = (spec: Document, prefix = ""): [string, Value][] =>
  Object.entries(spec).flatMap(([name, value]): [string, Value][] => {
    const path = `${prefix}${name}`;
    const isNested = isDocument(value) && Object.keys(value).every((key) => !key.startsWith("$"));
    return isNested && Object.keys(value).length > 0 ? flatten(value, `${path}.`) : [[path, value]];
  });

const exclude = (value: Value, tree: Tree): Value => {
  if (Array.isArray(value)) return value.map((element: Value) => exclude(element, tree));
  if (!isDocument(value)) return value;
  const result: Document = {};
  for (const [name, field] of Object.entries(value)) {
    const node = tree.fields.get(name);
    if (node === undefined) setField(result, name, field);
    else if (isTree(node)) setField(result, name, exclude(field, node));
  }
  return result;
};

const include = (value: Value, tree: Tree): Value => {
  if (Array.isArray(value)) {
    return value.map((element: Value) => include(element, tree)).filter((element) => element !== undefined);
  }
  if (!isDocument(value)) return undefined;
  const result: Document = {};
  for (const [name, field] of Object.entries(value)) {
    const node = tree.fields.get(name);
    if (node === undefined) continue;
    const kept = isTree(node) ? include(field, node) : "keep" in node ? field : undefined;
    if (kept !== undefined) setField(result, name, kept);
  }
  return result;
};

const addComputed = (target: Document, tree: Tree, root: Document, variables: Variables): void => {
  for (const [name, node] of tree.fields) {
    if (isTree(node)) {
      const inner = fieldOf(target, name);
      const hasComputed = [...node.fields.values()].some((child) => isTree(child) || "compute" in child);
      if (!hasComputed) continue;
      const nested = isDocument(inner) ? { ...inner } : {};
      addComputed(nested, node, root, variables);
      setField(target, name, nested);
    } else if ("compute" in node) {
      const value = node.compute({ root, variables });
      if (value === undefined) delete target[name];
      else setField(target, name, value);
    }
  }
};

/** Inclusion or exclusion, with computed fields; `_id` is there unless it is taken out. */
export const createProjection = (spec: Document): Projection => {
  const leaves = flatten(spec).map(([path, value]) => ({ path, leaf: leafOf(path, value) }));
  if (leaves.length === 0) return (document) => document;
  const others = leaves.filter(({ path }) => path !== "_id");
  const decisive = others.length > 0 ? others : leaves;
  const including = decisive.some(({ leaf }) => !("keep" in leaf) || leaf.keep);
  if (others.some(({ leaf }) => "keep" in leaf && leaf.keep !== including)) {
    throw new CommandError(
      including ? 31254 : 31253,
      `Cannot do ${including ? "exclusion" : "inclusion"} in ${including ? "inclusion" : "exclusion"} projection`,
    );
  }
  const tree = newTree();
  for (const { path, leaf } of leaves) {
    if ("keep" in leaf && leaf.keep !== including) continue;
    insert(tree, path.split("."), leaf);
  }
  if (!including) return (document) => exclude(document, tree) as Document;
  if (!leaves.some(({ path }) => path === "_id")) tree.fields.set("_id", { keep: true });
  return (document, variables) => {
    const result = include(document, tree) as Document;
    addComputed(result, tree, document, variables);
    return result;
  };
};
