import { createTestKit } from "leasehold/testing";
import { describe, expect, it } from "vitest";
import { jobTypes } from "./job-types.ts";
import { openLeasehold } from "./leasehold.ts";
import { defineWorker } from "./worker.ts";

const createServices = () => {
  const sent: string[] = [];
  return { sent, mailer: { send: (to: string, text: string) => void sent.push(`${to}: ${text}`) } };
};

describe("the application of docs/project-layout.md", () => {
  it("runs its handlers, each from a file of its own", async () => {
    const services = createServices();
    const leasehold = await openLeasehold();
    await leasehold.startJobSequence({
      typeName: "publish-album",
      input: { album: "summer" },
      startBlockers: () =>
        leasehold.startJobSequences({
          sequences: ["beach", "harbour"].map((photo) => ({ typeName: "resize-photo", input: { photo } })),
        }),
    });
    await leasehold.startJobSequence({
      typeName: "send-mail",
      input: { to: "grace@example.com", text: "Hi" },
    });
    const result = await defineWorker(leasehold, services).runUntilIdle({ deadlineMs: 15_000 });
    expect(result).toMatchObject({ ranJobs: 5, isIdle: true });
    expect(services.sent.toSorted()).toEqual([
      "ada@example.com: New album: /albums/summer?photos=2&bytes=12000",
      "grace@example.com: Hi",
    ]);
    await leasehold.close();
  });

  it("is tested on the manual clock", async () => {
    const services = createServices();
    const kit = await createTestKit({ jobTypes });
    await kit.leasehold.startJobSequence({
      typeName: "send-mail",
      input: { to: "ada@example.com", text: "Hi" },
    });
    await kit.drain(defineWorker(kit.leasehold, services));
    expect(services.sent).toEqual(["ada@example.com: Hi"]);
  });
});
