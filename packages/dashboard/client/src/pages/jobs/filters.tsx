import type { Status } from "../../../../src/answers/jobs.ts";
import { Icon } from "../../parts/icon.tsx";
import { Link } from "../../parts/link.tsx";
import { ranges } from "../../state/action.ts";
import { failureReasons, formatReason, shortId } from "../../state/format.ts";
import { changeQuery, place } from "../../state/router.ts";
import { jobFilters, knownQueues, knownTypes, may } from "../../state/session.ts";

const statuses: readonly Status[] = ["blocked", "pending", "running", "completed", "failed"];

const StatusFilter = ({ chosen }: { readonly chosen: readonly string[] }) => (
  <span class="segments" role="group" aria-label="Status">
    <button
      type="button"
      aria-pressed={chosen.length === 0}
      onClick={() => changeQuery({ status: undefined, cursor: undefined })}
    >
      All
    </button>
    {statuses.map((status) => {
      const isOn = chosen.includes(status);
      const next = isOn ? chosen.filter((other) => other !== status) : [...chosen, status];
      return (
        <button
          key={status}
          type="button"
          class={status}
          aria-pressed={isOn}
          onClick={() => changeQuery({ status: next, cursor: undefined })}
        >
          <Icon name={status} />
          {status}
        </button>
      );
    })}
  </span>
);

/** A text that is part of the filter, once it is complete. */
const TextFilter = ({
  name,
  label,
  known = [],
}: {
  readonly name: string;
  readonly label: string;
  readonly known?: readonly string[];
}) => {
  const value = place.value.query.getAll(name).join(", ");
  return (
    <label class="filter">
      {label}
      <input
        type="text"
        key={value}
        defaultValue={value}
        placeholder="any"
        autocomplete="off"
        spellcheck={false}
        size={Math.max(8, Math.min(24, value.length + 2))}
        list={`known-${name}`}
        onChange={(event) => {
          const text = event.currentTarget.value.trim();
          changeQuery({ [name]: text === "" ? undefined : text, cursor: undefined });
        }}
      />
      <datalist id={`known-${name}`}>
        {known.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </label>
  );
};

const SelectFilter = ({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
}) => (
  <label class="filter">
    {label}
    <select
      value={place.value.query.get(name) ?? ""}
      onChange={(event) => changeQuery({ [name]: event.currentTarget.value, cursor: undefined })}
    >
      <option value="">any</option>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  </label>
);

const shortNames: Readonly<Record<string, string>> = {
  rootSequenceId: "tree",
  fingerprint: "cause",
  leasedBy: "worker",
  sequenceTypeName: "sequence",
};

/** Filters with a control of their own. */
const controlled: ReadonlySet<string> = new Set(["queue", "typeName", "failureReason", "deduplicationKey"]);

/** "created from" of `createdFrom`. */
const inWords = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Filters that come with links and have no control of their own. */
const Extras = () => {
  const names = jobFilters()
    .filter(({ name }) => !controlled.has(name))
    .map(({ name }) => [name, shortNames[name] ?? inWords(name)] as const);
  const { query } = place.value;
  return (
    <>
      {names.map(([name, words]) => {
        const value = query.get(name);
        return (
          value !== null && (
            <button
              key={name}
              type="button"
              class="filter chip"
              title={value}
              onClick={() => changeQuery({ [name]: undefined, cursor: undefined })}
            >
              <span class="unseen">Remove the filter: </span>
              {words} <b class="mono">{shortId(value)}</b>
              <Icon name="close" />
            </button>
          )
        );
      })}
    </>
  );
};

/** All filters of the list. They are in the address, and nowhere else. */
export const Filters = ({
  chosen,
  isFiltered,
}: {
  /** The states that are shown; all if there is none. */
  readonly chosen: readonly string[];
  readonly isFiltered: boolean;
}) => (
  <div class="filters">
    <StatusFilter chosen={chosen} />
    <TextFilter name="queue" label="Queue" known={knownQueues.value} />
    <TextFilter name="typeName" label="Type" known={knownTypes.value} />
    {may("payloads") && <TextFilter name="deduplicationKey" label="Key" />}
    {may("payloads") && <TextFilter name="inputContains" label="Input has" />}
    {(chosen.length === 0 || chosen.includes("failed")) && (
      <SelectFilter
        name="failureReason"
        label="Reason"
        options={failureReasons.map((reason) => [reason, formatReason(reason)])}
      />
    )}
    <SelectFilter name="since" label="Created" options={ranges.map(([key, words]) => [key, words])} />
    {(chosen.length === 0 || chosen.includes("pending")) && (
      <SelectFilter
        name="due"
        label="Due"
        options={[
          ["now", "now"],
          ["later", "later"],
        ]}
      />
    )}
    <Extras />
    {isFiltered && (
      <Link class="link small" to="/jobs">
        Clear
      </Link>
    )}
  </div>
);
