import type { FlowRepair } from "leasehold/adapter";
import { countingLine, slotOf } from "../flow/place.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

type Counter = FlowRepair["counters"][number];

/** A counter that differs from the running jobs that say that they are counted there. */
interface Difference {
  readonly number: number;
  readonly queue: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly was: number;
  readonly is: number;
}

const differenceOf = (group: string) =>
  defineRow((columns): Difference => ({
    number: columns.value("number"),
    queue: columns.value("queue"),
    typeName: columns.value("type_name"),
    group: columns.value(group, null),
    was: columns.value("running"),
    is: columns.value("counted"),
  }));

export const prepareCheckFlow = ({ job, lane, line, runningIndex }: Tables): Operation<"checkFlow"> => {
  const running = `FROM ${job} AS j INDEXED BY ${runningIndex} WHERE j.status = 'running'`;
  const laneRow = differenceOf("NULL");
  const lineRow = differenceOf("group_key");
  // Counts the running jobs once and compares, however many lines there are.
  const checkLanes = `WITH slot AS (
      SELECT j.queue AS queue, j.type_name AS type_name ${running} AND j.slots & ${slotOf.type}
      UNION ALL SELECT j.queue, '' ${running} AND j.slots & ${slotOf.queue}),
    counting AS MATERIALIZED (SELECT queue, type_name, count(*) AS counted FROM slot GROUP BY queue, type_name)
    SELECT ${laneRow.columns} FROM (SELECT l.*, coalesce(c.counted, 0) AS counted FROM ${lane} AS l
      LEFT JOIN counting AS c ON c.queue = l.queue AND c.type_name = l.type_name)
    WHERE running <> counted ORDER BY queue, type_name`;
  const checkLines = `WITH counting AS MATERIALIZED
      (SELECT ${countingLine("j.slots")} AS line, count(*) AS counted ${running} AND j.slots & ${slotOf.line} GROUP BY 1)
    SELECT ${lineRow.columns} FROM (SELECT line.number, l.queue, l.type_name, line.group_key, line.running,
        coalesce(c.counted, 0) AS counted
      FROM ${line} AS line CROSS JOIN ${lane} AS l ON l.number = line.lane LEFT JOIN counting AS c ON c.line = line.number)
    WHERE running <> counted ORDER BY queue, type_name, group_key`;
  const setLane = `UPDATE ${lane} SET running = ? WHERE number = ?`;
  const setLine = `UPDATE ${line} SET running = ?, open = 1 WHERE number = ?`;

  return (db, { repair }) => {
    const ofLanes = laneRow.all(db, checkLanes, []);
    const ofLines = lineRow.all(db, checkLines, []);
    if (repair) {
      for (const { number, is } of ofLanes) db.run(setLane, [is, number]);
      for (const { number, is } of ofLines) db.run(setLine, [is, number]);
    }
    const counters = [...ofLanes, ...ofLines].map(({ queue, typeName, group, was, is }): Counter => ({
      queue,
      typeName: typeName === "" ? null : typeName,
      group,
      was,
      is,
    }));
    return { counters };
  };
};
