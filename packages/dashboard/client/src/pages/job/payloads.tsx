import type { JobDetail } from "../../answers.ts";
import { Card } from "../../parts/card.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Segments } from "../../parts/shell.tsx";
import { changeQuery, place } from "../../state/router.ts";

const tabs = [
  ["input", "Input"],
  ["output", "Output"],
  ["progress", "Progress"],
] as const;

/** What it carries: input, output, progress. */
export const Payloads = ({ job }: { readonly job: JobDetail["job"] }) => {
  const wanted = place.value.query.get("payload");
  const tab = tabs.find(([name]) => name === wanted)?.[0] ?? "input";
  const value = job[tab];
  return (
    <Card
      title="Payload"
      side={
        <>
          <Segments
            label="Payload"
            options={tabs}
            value={tab}
            onChange={(payload) => changeQuery({ payload }, { replace: true })}
          />
          <CopyButton text={JSON.stringify(value, null, 2)} label={`Copy the ${tab}`} />
        </>
      }
    >
      {value === null && tab !== "input" ? (
        <p class="dim">{tab === "output" ? "There is no output (yet)." : "It has reported no progress."}</p>
      ) : (
        <PayloadView value={value} label={tab} />
      )}
    </Card>
  );
};
