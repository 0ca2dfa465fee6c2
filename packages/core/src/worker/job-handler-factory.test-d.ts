import type { Union } from "../job-types/job-types-fixture.test-d.ts";
import type { Equal, Expect } from "../job-types/type-equality.test-d.ts";
import type { Middleware } from "./handler-api.ts";
import {
  createJobHandlerFactory,
  type JobHandlerOf,
  type JobTypeNameOf,
  type ProcessOptionsOf,
} from "./job-handler-factory.ts";

declare const union: Union;

// --- a handler apart from its worker -------------------------------------------------------------------------------

const createJobHandler = createJobHandlerFactory<Union>();

const fetchPage = createJobHandler({
  typeName: "fetch-page",
  maxAttempts: 2,
  process: async ({ job, complete }) => {
    const url: string = job.input.url;
    void url;
    return complete(async ({ client, continueWith }) => {
      await client.query("select 1");
      return continueWith({ typeName: "index-page", input: { words: [] } });
    });
  },
});

void union.createWorker().implementJobType(fetchPage);

createJobHandler({
  // @ts-expect-error -- no such type
  typeName: "fetch-pages",
  process: async () => null,
});

createJobHandler({
  typeName: "fetch-page",
  // @ts-expect-error -- the input has no such field
  process: async ({ job }) => job.input.link,
});

// --- the same as types, for classes --------------------------------------------------------------------------------

class FetchPage {
  process(options: ProcessOptionsOf<Union, "fetch-page">): ReturnType<JobHandlerOf<Union, "fetch-page">> {
    return fetchPage.process(options);
  }
}

const name: JobTypeNameOf<Union> = "fetch-page";
void [new FetchPage(), name];

// --- values of middleware ------------------------------------------------------------------------------------------

interface Tenant {
  readonly tenant: { readonly name: string };
}

const withTenant: Middleware<Tenant> = async (_context, next) => next({ tenant: { name: "acme" } });

// @ts-expect-error -- the values are missing
const forgetful: Middleware<Tenant> = async (_context, next) => next();
void forgetful;

const withQuota: Middleware<{ readonly quota: number }, Tenant> = async ({ tenant }, next) =>
  next({ quota: tenant.name.length });

const createTenantHandler = createJobHandlerFactory<Union, Tenant>();

const tenantPage = createTenantHandler({
  typeName: "fetch-page",
  process: async (options) => {
    const { tenant } = options;
    const text: string = tenant.name;
    void text;
    return fetchPage.process(options);
  },
});

const worker = union.createWorker().use(withTenant).use(withQuota);

void worker.implementJobType(tenantPage).implementJobType({
  typeName: "report",
  process: async ({ tenant, quota }) => {
    const values: [Expect<Equal<typeof quota, number>>, Expect<Equal<typeof tenant, Tenant["tenant"]>>] = [
      true,
      true,
    ];
    return `${tenant.name}: ${quota}, ${values.length}`;
  },
});

// A handler that needs fewer values fits, too.
void worker.implementJobType(fetchPage);

// @ts-expect-error -- the worker has no middleware that passes the tenant
void union.createWorker().implementJobType(tenantPage);

// @ts-expect-error -- the middleware reads a value that none before it passes
void union.createWorker().use(withQuota);

// Middleware without values is as before.
void worker.use(async ({ job }, next) => {
  void job.id;
  return next();
});
