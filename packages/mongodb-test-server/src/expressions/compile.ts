import { CommandError, notImplemented } from "../errors.ts";
import { expressionPath } from "../bson-values/paths.ts";
import { isDocument, setField } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { arithmeticOperators } from "./arithmetic.ts";
import { arrayOperators } from "./arrays.ts";
import { arrayLoopOperators } from "./array-loops.ts";
import { comparisonOperators } from "./comparison.ts";
import { conditionalOperators } from "./conditional.ts";
import { conversionOperators } from "./conversion.ts";
import { dateOperators } from "./dates.ts";
import { objectOperators } from "./objects.ts";
import { setOperators } from "./sets.ts";
import { stringOperators } from "./strings.ts";
import { summaryOperators } from "./summaries.ts";
import type { Expression, OperatorTable } from "./scope.ts";

const operators: OperatorTable = {
  ...arithmeticOperators,
  ...arrayOperators,
  ...arrayLoopOperators,
  ...comparisonOperators,
  ...conditionalOperators,
  ...conversionOperators,
  ...dateOperators,
  ...objectOperators,
  ...setOperators,
  ...stringOperators,
  ...summaryOperators,
};

const compileVariable = (text: string): Expression => {
  const [name = "", ...parts] = text.slice(2).split(".");
  if (name === "ROOT" || name === "CURRENT") return (scope) => expressionPath(scope.root, parts);
  if (name === "REMOVE") return () => undefined;
  return (scope) => {
    if (!Object.hasOwn(scope.variables, name)) {
      throw new CommandError(17276, `Use of undefined variable: ${name}`);
    }
    return expressionPath(scope.variables[name], parts);
  };
};

const compileString = (text: string): Expression => {
  if (text.startsWith("$$")) return compileVariable(text);
  if (!text.startsWith("$")) return () => text;
  if (text === "$") throw new CommandError(16872, "'$' by itself is not a valid FieldPath");
  const parts = text.slice(1).split(".");
  if (parts.includes("")) {
    throw new CommandError(15998, "FieldPath field names may not be empty strings.");
  }
  return (scope) => expressionPath(scope.root, parts);
};

const compileOperator = (name: string, argument: Value): Expression => {
  if (name === "$literal" || name === "$const") return () => argument;
  const compileArgument = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (compileArgument === undefined) throw notImplemented(`the expression ${name}`);
  return compileArgument(argument, compileExpression);
};

const compileDocument = (expression: Document): Expression => {
  const fields = Object.entries(expression);
  const [first] = fields;
  if (first?.[0].startsWith("$") === true) {
    if (fields.length > 1) {
      throw new CommandError(15983, "an object representing an expression must have exactly one field");
    }
    return compileOperator(first[0], first[1]);
  }
  const compiled = fields.map(([name, value]) => [name, compileExpression(value)] as const);
  return (scope) => {
    const result: Document = {};
    for (const [name, evaluate] of compiled) {
      const value = evaluate(scope);
      if (value !== undefined) setField(result, name, value);
    }
    return result;
  };
};

/** Turns an aggregation expression into a function; an operator the server does not know is an error that names it. */
export const compileExpression = (expression: Value): Expression => {
  if (typeof expression === "string") return compileString(expression);
  if (Array.isArray(expression)) {
    const elements = expression.map((element: Value) => compileExpression(element));
    return (scope) => elements.map((element) => element(scope) ?? null);
  }
  return isDocument(expression) ? compileDocument(expression) : () => expression;
};
