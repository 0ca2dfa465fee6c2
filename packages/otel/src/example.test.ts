import { expect, it } from "vitest";
import { main } from "../examples/prometheus.ts";

it("the example exports metrics as Prometheus text", async () => {
  const printed: string[] = [];
  await main((text) => printed.push(text));
  const lines = printed.join("\n").split("\n");
  const value = (start: string): string | undefined =>
    lines
      .find((line) => line.startsWith(start))
      ?.split(" ")
      .at(-1);
  const labels = `queue="default",typeName="greet"`;
  expect(lines).toContain("# TYPE leasehold_job_completed_total counter");
  expect(value(`leasehold_job_completed_total{${labels}`)).toBe("1");
  expect(value(`leasehold_job_created_total{${labels}`)).toBe("2");
  expect(lines).toContain("# TYPE leasehold_job_duration histogram");
  expect(value(`leasehold_job_duration_count{${labels}`)).toBe("1");
  expect(lines).toContain("# TYPE leasehold_job_type_idle gauge");
  expect(value(`leasehold_job_type_idle{workerId="worker-1",typeName="greet"`)).toBe("1");
  expect(value(`leasehold_store_jobs{${labels},status="pending"`)).toBe("1");
});
