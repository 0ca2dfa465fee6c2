import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import { type ApiError, read } from "../state/api.ts";
import { formatCount, zoneName } from "../state/format.ts";
import { useTopic } from "../state/live.ts";
import { withMoment } from "../state/range.ts";
import { jobPath, jobsPath, navigate, parts } from "../state/router.ts";
import { backlog, knownQueues, knownTypes, may, offers, session, trouble } from "../state/session.ts";
import { announcement, isLive, theme, zone } from "../state/settings.ts";
import { Problem } from "./card.tsx";
import { HelpDialog, isHelpOpen, toggleLive } from "./help.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Installation, SignOut } from "./installation.tsx";
import { Link } from "./link.tsx";

const isThere = async (id: string): Promise<boolean> => {
  try {
    await read(`jobs/${toSegment(id)}`);
    return true;
  } catch (error) {
    if ((error as ApiError).status === 404) return false;
    throw error;
  }
};

/** An id leads to its job; the name of a type or queue, or a key, to the jobs of it. */
const find = async (text: string): Promise<string> => {
  if (knownTypes.value.includes(text)) return jobsPath({ typeName: text });
  if (knownQueues.value.includes(text)) return jobsPath({ queue: text });
  return !may("payloads") || (await isThere(text)) ? jobPath(text) : jobsPath({ deduplicationKey: text });
};

const FindBox = () => {
  const [text, setText] = useState("");
  const go = async (): Promise<void> => {
    const wanted = text.trim();
    if (wanted === "") return;
    navigate(await find(wanted).catch(() => jobPath(wanted)));
    setText("");
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <Icon name="find" />
      <input
        id="find"
        type="search"
        aria-label="Find a job by id, type, queue or key"
        placeholder="Job id, type, queue, key…"
        autocomplete="off"
        spellcheck={false}
        list="known-names"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
      <datalist id="known-names">
        {[...new Set([...knownTypes.value, ...knownQueues.value])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
};

interface Section {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  readonly isOffered?: () => boolean;
  /** Whether it can show a past range, too. */
  readonly keepsMoment?: boolean;
}

const sections: readonly Section[] = [
  { path: "", name: "Overview", icon: "overview", keepsMoment: true },
  { path: "queues", name: "Queues", icon: "queues", keepsMoment: true },
  { path: "jobs", name: "Jobs", icon: "jobs" },
  { path: "failed", name: "Failed", icon: "failed" },
  { path: "recurring", name: "Recurring", icon: "recurring", isOffered: () => offers("recurring") },
  { path: "limits", name: "Limits", icon: "limits", isOffered: () => offers("limits") },
  { path: "workers", name: "Workers", icon: "workers", isOffered: () => offers("history") },
  { path: "doctor", name: "Doctor", icon: "doctor" },
  { path: "actions", name: "Actions", icon: "actions" },
];

const FailedCount = () => {
  const known = backlog.value;
  const count = known?.types.reduce((sum, { failed }) => sum + failed, 0) ?? 0;
  if (known === undefined || count === 0) return null;
  const isMore = known.types.some(({ failed }) => failed >= known.cap);
  return <span class="count">{formatCount(count) + (isMore ? "+" : "")}</span>;
};

const isCurrent = (path: string): boolean => {
  const first = parts.value?.[0] ?? "";
  return (
    first === path || (path === "jobs" && first === "trees") || (path === "workers" && first === "compare")
  );
};

const themes = { system: "light", light: "dark", dark: "system" } as const;

const Preferences = () => (
  <footer>
    <span>
      <span class="words">Signed in as </span>
      <b>{session.value?.user}</b>
    </span>
    <SignOut />
    <button type="button" onClick={() => (zone.value = zone.value === "utc" ? "local" : "utc")}>
      Times in {zoneName()}
    </button>
    <button type="button" onClick={() => (theme.value = themes[theme.value])}>
      Theme: {theme.value}
    </button>
    <button type="button" onClick={() => (isHelpOpen.value = true)}>
      <kbd>?</kbd> Keys
    </button>
  </footer>
);

const Rail = () => {
  const rail = useRef<HTMLElement>(null);
  const section = parts.value?.[0];
  // On a phone the sections are a strip, and the one that is open may be beyond its edge.
  useEffect(
    () =>
      rail.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    // The number of failed jobs comes later, and moves the sections behind it.
    [section, backlog.value === undefined],
  );
  return (
    <nav class="rail" aria-label="Sections" ref={rail}>
      <div class="brand">
        <svg viewBox="0 0 24 18" aria-hidden="true">
          <circle cx="7" cy="9" r="4.6" />
          <path d="M11.6 9H22M18 9v3.8M22 9v3" />
        </svg>
        Leasehold
        <Installation />
      </div>
      <ul>
        {sections
          .filter(({ isOffered }) => isOffered === undefined || isOffered())
          .map(({ path, name, icon, keepsMoment = false }) => (
            <li key={path}>
              <Link
                to={keepsMoment ? withMoment(`/${path}`) : `/${path}`}
                aria-current={isCurrent(path) ? "page" : undefined}
              >
                <Icon name={icon} />
                {name}
                {path === "failed" && <FailedCount />}
              </Link>
            </li>
          ))}
      </ul>
      <Preferences />
    </nav>
  );
};

/** Reads what every page needs, and shows an error when that fails. */
const BacklogWatch = () => {
  const { data, error } = useTopic("backlog");
  useEffect(() => {
    if (data !== undefined) backlog.value = data;
  }, [data]);
  useEffect(() => {
    trouble.value = error;
  }, [error]);
  return error === undefined ? null : <Problem error={error} />;
};

export const Shell = ({ children }: { readonly children: ComponentChildren }) => (
  <>
    <a class="skip" href="#main">
      Skip to content
    </a>
    <div class="app">
      <Rail />
      <main id="main" tabIndex={-1}>
        <BacklogWatch />
        {children}
      </main>
    </div>
    <div class="unseen" role="status" aria-live="polite">
      {announcement.value}
    </div>
    <HelpDialog />
  </>
);

let isFirstPage = true;

/** The title of a page, and what is on top of every one. A new page takes the focus, so that it is read out. */
export const Top = ({
  title,
  path,
  children,
}: {
  readonly title: string;
  /** Shown in place of the title where the page has its own below. */
  readonly path?: ComponentChildren;
  readonly children?: ComponentChildren;
}) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [title, session.value?.environment?.label, "Leasehold"].filter(Boolean).join(" · ");
  }, [title]);
  useEffect(() => {
    const target = heading.current ?? document.querySelector<HTMLElement>("#main");
    // Going back leads to the place in the page, not to its beginning.
    if (!isFirstPage) target?.focus({ preventScroll: true });
    isFirstPage = false;
  }, []);
  return (
    <div class="top">
      {path === undefined || path === false ? (
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
      ) : (
        <nav class="crumbs" aria-label="Where this is">
          {path}
        </nav>
      )}
      <FindBox />
      {children}
      <button
        type="button"
        class={`live ${isLive.value ? "" : "paused"}`}
        aria-pressed={!isLive.value}
        title={isLive.value ? "Pause: nothing is updated" : "Resume"}
        onClick={toggleLive}
      >
        {isLive.value ? "Live" : "Paused"}
      </button>
    </div>
  );
};

/** One of a few, kept in the address. */
export const Segments = <T extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string;
  readonly options: readonly (readonly [T, string])[];
  readonly value: T;
  onChange(value: T): void;
}) => (
  <span class="segments" role="group" aria-label={label}>
    {options.map(([option, name]) => (
      <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
        {name}
      </button>
    ))}
  </span>
);
