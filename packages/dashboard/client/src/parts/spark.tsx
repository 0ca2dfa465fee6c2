const width = 84;
const height = 20;

/** A small line over time. What it shows is said beside it, or in a table elsewhere. */
export const Spark = ({ values }: { readonly values: readonly number[] }) => {
  const top = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)} ${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={`M${points.join("L")}L${width} ${height}L0 ${height}Z`} />
      <path class="line" d={`M${points.join("L")}`} />
    </svg>
  );
};
