import { Failures } from "../parts/failures.tsx";
import { FindingsNote } from "../parts/findings-note.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { MomentBar, RangePicker } from "../parts/moment-bar.tsx";
import { Problem, Skeleton } from "../parts/notice.tsx";
import { QueueTable } from "../parts/queue-table.tsx";
import { Top } from "../parts/shell.tsx";
import { Throughput } from "../parts/throughput.tsx";
import { useKnown } from "../state/known.ts";
import { useTopic } from "../state/live.ts";
import { useTimeToStart } from "../state/moment.ts";
import { countUnfinished, describeQueues } from "../state/queue-rows.ts";
import { PastFigures, PresentFigures } from "./overview/figures.tsx";
import { SituationCard } from "./overview/situation-card.tsx";
import { WorkersCard } from "./overview/workers-card.tsx";

export const OverviewPage = () => {
  const { isNow, known, error, isComplete } = useKnown();
  const { data: timeToStart } = useTimeToStart();
  const { data: situation } = useTopic("situation", { when: isNow });
  const { backlog, statistics, processes } = known;
  return (
    <>
      <Top title="Overview">
        <RangePicker />
      </Top>
      <MomentBar statistics={statistics} />
      {error !== undefined && <Problem error={error} />}
      {isNow && situation !== undefined && <SituationCard situation={situation} />}
      {isNow && <FindingsNote />}
      {backlog !== undefined && <PresentFigures known={backlog} statistics={statistics} />}
      {!isNow && statistics !== undefined && <PastFigures statistics={statistics} />}
      {statistics !== undefined && (
        <div class="columns wide-narrow">
          <Throughput statistics={statistics} unfinished={countUnfinished(backlog)} />
          <Failures statistics={statistics} />
        </div>
      )}
      {timeToStart !== undefined && <HeatMap title="Time to start, by queue" data={timeToStart} />}
      {isComplete && <QueueTable rows={describeQueues(known)} timeToStart={timeToStart} />}
      {processes !== undefined && <WorkersCard processes={processes} />}
      {!isComplete && error === undefined && <Skeleton rows={8} />}
    </>
  );
};
