import { Time } from "../../parts/time.tsx";
import { changeQuery } from "../../state/router.ts";

export const pageSizes = ["50", "100", "200"] as const;

/** How many, in which order, and the next page. */
export const Paging = ({
  limit,
  order,
  cursor,
  next,
  searchedTo,
}: {
  readonly limit: string;
  readonly order: string | undefined;
  readonly cursor: string | undefined;
  readonly next: string | null;
  /** How far was looked, where the page is not full and there is more to look at. */
  readonly searchedTo: string | null;
}) => (
  <div class="bar bottom">
    <label class="filter">
      Rows
      <select
        value={limit}
        onChange={(event) => changeQuery({ limit: event.currentTarget.value, cursor: undefined })}
      >
        {pageSizes.map((size) => (
          <option key={size} value={size}>
            {size}
          </option>
        ))}
      </select>
    </label>
    <label class="filter">
      Order
      <select
        value={order ?? ""}
        onChange={(event) => changeQuery({ order: event.currentTarget.value, cursor: undefined })}
      >
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
    </label>
    <span class="row side">
      {searchedTo !== null && (
        <span class="small dim">
          looked {order === undefined ? "back" : "on"} to <Time at={searchedTo} />
        </span>
      )}
      {cursor !== undefined && (
        <button type="button" class="button" onClick={() => changeQuery({ cursor: undefined })}>
          First page
        </button>
      )}
      {next !== null && (
        <button type="button" class="button" onClick={() => changeQuery({ cursor: next })}>
          {searchedTo === null ? "Next page" : "Look further"}
        </button>
      )}
    </span>
  </div>
);
