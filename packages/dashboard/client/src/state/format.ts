import { zone } from "./settings.ts";

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

const threeDigits = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

const twoDigits = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 2 });

const short = (value: number): string => (value < 1 ? twoDigits : threeDigits).format(value);

export const formatCount = (count: number): string => whole.format(count);

/** A number that was counted up to a cap. */
export const formatCapped = (count: number, cap: number): string =>
  count >= cap ? `${whole.format(cap)}+` : whole.format(count);

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${whole.format(count)} ${count === 1 ? one : many}`;

const second = 1_000;

const minute = 60 * second;

const hour = 60 * minute;

const day = 24 * hour;

const pair = (value: number, big: number, bigName: string, small: number, smallName: string): string => {
  const smalls = Math.floor((value % big) / small);
  const bigs = `${Math.floor(value / big)}${bigName}`;
  return smalls === 0 ? bigs : `${bigs} ${smalls}${smallName}`;
};

/** `38 ms`, `1.2 s`, `4m 54s`, `2h 5m`, `3d 4h`: as the command line and the server write it. */
export const formatDuration = (ms: number): string => {
  const value = Math.max(0, ms);
  if (value < second) return `${Math.round(value)} ms`;
  if (value < 10 * second) return `${Math.floor(value / 100) / 10} s`;
  if (value < minute) return `${Math.floor(value / second)} s`;
  if (value < hour) return pair(value, minute, "m", second, "s");
  return value < day ? pair(value, hour, "h", minute, "m") : pair(value, day, "d", hour, "h");
};

/** After "per" or "by": `minute`, `10 s`, `hour`. */
export const formatUnit = (ms: number): string =>
  ms === minute ? "minute" : ms === hour ? "hour" : ms === day ? "day" : formatDuration(ms);

/** For ages, which need no tenths. */
export const formatAge = (ms: number): string =>
  ms < 10 * second ? `${Math.max(0, Math.floor(ms / second))} s` : formatDuration(ms);

export const formatRate = (perSecond: number): string => short(perSecond);

/** By the minute where there is less than one a second. */
export const rateOf = (perSecond: number): { readonly value: string; readonly unit: string } =>
  perSecond === 0 || perSecond >= 1
    ? { value: formatRate(perSecond), unit: "/s" }
    : { value: formatRate(perSecond * 60), unit: "/min" };

export const formatShare = (part: number, of: number): string =>
  of === 0 ? "–" : `${short((100 * part) / of)} %`;

const timeZone = (): { timeZone?: string } => (zone.value === "utc" ? { timeZone: "UTC" } : {});

/** The time of day; with the day if it is not today, and the year if it is not this one. */
export const formatTime = (iso: string, now: number, { seconds = true } = {}): string => {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "–";
  const show = (value: Date | number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat("en-GB", { ...options, ...timeZone() }).format(value);
  const day = { day: "numeric", month: "short" } as const;
  const full = { ...day, year: "numeric" } as const;
  const time = show(at, { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });
  if (show(at, full) === show(now, full)) return time;
  const isThisYear = show(at, { year: "numeric" }) === show(now, { year: "numeric" });
  return `${show(at, isThisYear ? day : full)}, ${time}`;
};

export const zoneName = (): string =>
  zone.value === "utc" ? "UTC" : (new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local time");

/** As the command line shows it. Every page, the search and every command takes it. */
export const shortId = (id: string): string => (id.length <= 20 ? id : `${id.slice(0, 13)}…${id.slice(-6)}`);

const reasons: Readonly<Record<string, string>> = {
  attempts_exhausted: "no attempts left",
  unrecoverable: "unrecoverable",
  blocker_failed: "a blocker failed",
  cancelled: "cancelled",
  no_handler: "no handler",
  invalid_input: "invalid input",
  expired: "expired",
};

const failureSentences: Readonly<Record<string, string>> = {
  attempts_exhausted: "it has no attempts left",
  unrecoverable: "its handler said that trying again is no use",
  blocker_failed: "a sequence that it waited for has failed",
  cancelled: "it was cancelled",
  no_handler: "its type is unknown to the worker that took it",
  invalid_input: "its input does not fit its type",
  expired: "it did not begin in time",
};

/** After "It failed:". */
export const formatFailure = (reason: string): string => failureSentences[reason] ?? formatReason(reason);

export const failureReasons = Object.keys(reasons);

export const formatReason = (reason: string): string => reasons[reason] ?? reason.replaceAll("_", " ");
