import { type Field, schemaOf } from "../http/fields.ts";
import type { Route } from "./route.ts";

const errorSchema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: { code: { type: "string" }, message: { type: "string" }, hint: { type: "string" } },
      required: ["code", "message"],
    },
  },
  required: ["error"],
};

const parametersOf = ({ path, query }: Route): unknown[] => [
  ...path
    .split("/")
    .filter((part) => part.startsWith(":"))
    .map((part) => ({ name: part.slice(1), in: "path", required: true, schema: { type: "string" } })),
  ...Object.entries(query as Record<string, Field<unknown>>).map(([name, { schema, required }]) => ({
    name,
    in: "query",
    required,
    schema,
  })),
];

const operationOf = (route: Route): unknown => ({
  summary: route.summary,
  description: `Needs the right \`${route.needs}\`.`,
  parameters: parametersOf(route),
  ...(route.body && {
    requestBody: { required: true, content: { "application/json": { schema: schemaOf(route.body) } } },
  }),
  responses: {
    200: { description: "The answer.", content: { "application/json": { schema: route.answer } } },
    default: { description: "Why there is none.", content: { "application/json": { schema: errorSchema } } },
  },
});

/** The route table as OpenAPI 3.1. */
export const describeApi = (routes: readonly Route[], basePath: string): unknown => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = `/${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Leasehold dashboard", version: "1" },
    servers: [{ url: `${basePath}/api/v1` }],
    paths,
  };
};
