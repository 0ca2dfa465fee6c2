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

const failure = {
  description: "Why there is none.",
  content: { "application/json": { schema: errorSchema } },
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

/** Such as `getJobsId`: generators of clients name their functions by it. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .split(/\W+/)
    .filter(Boolean)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join("");

const operationOf = (route: Route): unknown => ({
  operationId: operationIdOf(route.method, route.path),
  summary: route.summary,
  description: `Needs the right \`${route.needs}\`.`,
  parameters: parametersOf(route),
  ...(route.body && {
    requestBody: { required: true, content: { "application/json": { schema: schemaOf(route.body) } } },
  }),
  responses: {
    200: { description: "The answer.", content: { "application/json": { schema: route.answer } } },
    default: failure,
  },
});

const streamOf = (routes: readonly Route[]): unknown => ({
  operationId: "getEvents",
  summary: "Server-sent events: the state of each topic, whenever it has changed.",
  description:
    "Needs the right `read`. The name of an event is its topic, and its data the answer of the route of the same name.",
  parameters: [
    {
      name: "topic",
      in: "query",
      required: true,
      schema: {
        type: "array",
        items: { type: "string", enum: routes.filter(({ isTopic }) => isTopic).map(({ path }) => path) },
        minItems: 1,
        maxItems: 10,
      },
    },
  ],
  responses: {
    200: { description: "The stream.", content: { "text/event-stream": { schema: { type: "string" } } } },
    default: failure,
  },
});

/** The route table as OpenAPI 3.1. */
export const describeApi = (routes: readonly Route[], basePath: string): unknown => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = `/${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  paths["/events"] = { get: streamOf(routes) };
  return {
    openapi: "3.1.0",
    info: { title: "Leasehold dashboard", version: "1" },
    servers: [{ url: `${basePath}/api/v1` }],
    paths,
  };
};
