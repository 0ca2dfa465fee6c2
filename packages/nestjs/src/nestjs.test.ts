import "reflect-metadata";
import { Inject, Injectable, Module, Scope } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Test } from "@nestjs/testing";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  type InProcessStateAdapter,
  type JobHandlerOf,
  type Leasehold,
  type Middleware,
  type ProcessOptionsOf,
} from "leasehold";
import { createTestKit } from "leasehold/testing";
import { describe, expect, it } from "vitest";
import {
  InjectLeasehold,
  JobHandler,
  LeaseholdModule,
  type LeaseholdModuleOptions,
  leaseholdOptionsToken,
  leaseholdToken,
  LeaseholdWorker,
} from "./index.ts";

interface AppJobTypes {
  "send-mail": { input: { to: string }; output: string };
  "count-words": { input: { text: string }; output: number };
}

const jobTypes = defineUnionJobTypes<AppJobTypes>();

type AppLeasehold = Leasehold<AppJobTypes, InProcessStateAdapter>;

// Decorators are called as functions: an application writes `@Injectable() @JobHandler("send-mail")` above its classes.

class Mailer {
  readonly sent: string[] = [];
}
Injectable()(Mailer);

class SendMail {
  readonly mailer: Mailer;
  constructor(mailer: Mailer) {
    this.mailer = mailer;
  }
  async process({ job }: ProcessOptionsOf<AppLeasehold, "send-mail">): Promise<string> {
    this.mailer.sent.push(job.input.to);
    return `sent to ${job.input.to}`;
  }
}
Injectable()(SendMail);
Inject(Mailer)(SendMail, undefined, 0);
JobHandler("send-mail", { maxAttempts: 3 })(SendMail);

class CountWords {
  process: JobHandlerOf<AppLeasehold, "count-words"> = async ({ job }) => job.input.text.split(" ").length;
}
Injectable()(CountWords);
JobHandler("count-words")(CountWords);

class Shop {
  readonly leasehold: AppLeasehold;
  constructor(leasehold: AppLeasehold) {
    this.leasehold = leasehold;
  }
  order(to: string) {
    return this.leasehold.startJobSequence({ typeName: "send-mail", input: { to } });
  }
}
Injectable()(Shop);
InjectLeasehold()(Shop, undefined, 0);

const createModule = (
  leaseholdModule: ReturnType<typeof LeaseholdModule.forRoot>,
  handlers = [CountWords],
) => {
  // oxlint-disable-next-line typescript/no-extraneous-class -- a module of NestJS is a class
  class AppModule {}
  Module({ imports: [leaseholdModule], providers: [Mailer, SendMail, Shop, ...handlers] })(AppModule);
  return AppModule;
};

const openLeasehold = () => createLeasehold({ stateAdapter: createInProcessStateAdapter(), jobTypes });

describe("LeaseholdModule", () => {
  it("forRoot runs jobs by the providers that have @JobHandler, and closes with the application", async () => {
    const leasehold = await openLeasehold();
    let closed = 0;
    const app = await NestFactory.createApplicationContext(
      createModule(
        LeaseholdModule.forRoot({
          leasehold,
          worker: { workerId: "app" },
          onClosed: () => void (closed += 1),
        }),
      ),
      { logger: false },
    );
    const sequence = await app.get(Shop).order("ada@example.com");
    const { output } = await leasehold.waitForJobSequenceCompletion(sequence);
    expect(output).toBe("sent to ada@example.com");
    expect(app.get(Mailer).sent).toEqual(["ada@example.com"]);
    expect(app.get(leaseholdToken)).toBe(leasehold);
    const { running } = app.get(LeaseholdWorker);
    expect(running!.health()).toMatchObject({ workerId: "app", state: "running" });
    await app.close();
    expect(running!.health().state).toBe("stopped");
    expect(closed).toBe(1);
  });

  it("forRootAsync takes what it needs from other providers; middleware goes around the handlers", async () => {
    const seen: string[] = [];
    const middleware: Middleware = ({ job }, next) => {
      seen.push(job.typeName);
      return next();
    };
    const app = await NestFactory.createApplicationContext(
      createModule(
        LeaseholdModule.forRootAsync({
          inject: [{ token: "SETTINGS", optional: true }],
          useFactory: async (): Promise<LeaseholdModuleOptions> => {
            const leasehold = await openLeasehold();
            return { leasehold, defineWorker: () => leasehold.createWorker().use(middleware) };
          },
        }),
      ),
      { logger: false },
    );
    const leasehold: AppLeasehold = app.get(leaseholdToken);
    const sequence = await leasehold.startJobSequence({ typeName: "count-words", input: { text: "a b c" } });
    expect((await leasehold.waitForJobSequenceCompletion(sequence)).output).toBe(3);
    expect(seen).toEqual(["count-words"]);
    await app.close();
  });

  it("with worker: false only starts jobs", async () => {
    const leasehold = await openLeasehold();
    const module = createModule(LeaseholdModule.forRoot({ leasehold, worker: false }));
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    await app.get(Shop).order("ada@example.com");
    expect(app.get(LeaseholdWorker).running).toBeUndefined();
    expect(await leasehold.jobs.count({ status: "pending" })).toMatchObject([{ count: 1 }]);
    await app.close();
  });

  it("is tested on the manual clock, without its own store", async () => {
    const kit = await createTestKit({ jobTypes });
    const leaseholdModule = LeaseholdModule.forRootAsync({
      useFactory: () => Promise.reject(new Error("There is no database in a test.")),
    });
    const testing = await Test.createTestingModule({ imports: [createModule(leaseholdModule)] })
      .overrideProvider(leaseholdOptionsToken)
      .useValue({ leasehold: kit.leasehold, worker: false } satisfies LeaseholdModuleOptions)
      .compile();
    const app = await testing.init();
    await app.get(Shop).order("ada@example.com");
    await kit.drain(app.get(LeaseholdWorker).createWorker());
    expect(app.get(Mailer).sent).toEqual(["ada@example.com"]);
    await app.close();
  });

  it("refuses a request-scoped handler, and two handlers of one type", async () => {
    class PerRequest extends CountWords {}
    Injectable({ scope: Scope.REQUEST })(PerRequest);
    JobHandler("count-words")(PerRequest);
    class Again extends CountWords {}
    Injectable()(Again);
    JobHandler("count-words")(Again);
    const cases: [(typeof CountWords)[], string][] = [
      [[PerRequest], "request-scoped"],
      [[CountWords, Again], "must not be implemented twice"],
    ];
    for (const [handlers, message] of cases) {
      const leasehold = await openLeasehold();
      const module = createModule(LeaseholdModule.forRoot({ leasehold }), handlers);
      const app = await NestFactory.createApplicationContext(module, {
        logger: false,
        abortOnError: false,
      }).catch((error: unknown) => error);
      expect(String(app)).toContain(message);
      await leasehold.close();
    }
  });
});
