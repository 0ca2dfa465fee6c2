import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../testing/seeded-random.ts";
import { commonMessage } from "./common-message.ts";

const random = createSeededRandom("ids in messages");

const below = (limit: number): number => random.integer(0, limit - 1);

const { pick } = random;

const some = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[below(alphabet.length)]).join("");

const digits = "0123456789";
const hex = `${digits}abcdef`;
const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const base36 = digits + lower;
const base62 = base36 + upper;
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const podLetters = "bcdfghjklmnpqrstvwxz2456789";

const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));

const day = (): Date => new Date(1_500_000_000_000 + below(500_000_000) * 1_000);

const words = ["invoice", "report", "holiday", "cat", "scan", "summary", "budget", "photo", "notes", "q"];

/** Made-up ids of each format. */
const formats: Readonly<Record<string, () => string>> = {
  "a UUID": () => `${some(hex, 8)}-${some(hex, 4)}-4${some(hex, 3)}-a${some(hex, 3)}-${some(hex, 12)}`,
  "a UUID without dashes": () => some(hex, 32),
  "an ObjectId": () => `65${some(hex, 22)}`,
  "a ULID": () => `01${some(crockford, 24)}`,
  "a KSUID": () => `2${some(base62, 26)}`,
  "a nanoid": () => some(`${base62}-_`, 21),
  "a cuid": () => `c${some(base36, 24)}`,
  "a short commit": () => some(hex, 7),
  "a commit of eight digits": () => some(hex, 8),
  "a commit of ten digits": () => some(hex, 10),
  "a commit": () => some(hex, 40),
  "a SHA-256": () => some(hex, 64),
  "a container": () => some(hex, 12),
  "a span": () => some(hex, 16),
  "a pod of a deployment": () =>
    `${pick(["api", "web-worker", "billing"])}-${some(podLetters, pick([8, 9, 10]))}-${some(podLetters, 5)}`,
  "a pod of a daemon set": () => `fluentd-${some(podLetters, 5)}`,
  "a pod of a cron job": () => `nightly-report-${28_000_000 + below(999_999)}-${some(podLetters, 5)}`,
  "a pod of a stateful set": () => `postgres-${below(20)}`,
  "eight characters in base 36": () => some(base36, 8),
  "ten characters in base 36": () => some(base36, 10),
  "twelve characters in base 36": () => some(base36, 12),
  "eleven characters in base 62": () => some(base62, 11),
  "twenty characters in base 62": () => some(base62, 20),
  "base64 with padding": () => bytes(16).toString("base64"),
  "base64 of twelve bytes": () => bytes(12).toString("base64"),
  base64url: () => bytes(24).toString("base64url"),
  "a file": () =>
    `${pick(words)}${pick(["", "-2024", "_final", ` ${below(9)}`.trim()])}.${pick(["png", "pdf", "csv"])}`,
  "a file with a made-up name": () => `${some(base36, pick([6, 10, 16]))}.png`,
  "a file in a folder": () => `uploads/${pick([pick(words), some(base36, 9)])}.png`,
  "a path": () => `/var/lib/${pick(words)}/${some(base36, 6)}.json`,
  "a Slack user": () => `U0${some(digits + upper, 9)}`,
  "a Slack channel": () => `C0${some(digits + upper, 7)}`,
  "a Slack team": () => `T${some(digits + upper, 8)}`,
  "an EC2 instance": () => `i-0${some(hex, 16)}`,
  "a subnet": () => `subnet-${some(hex, 8)}`,
  "an access key": () => `AKIA${some("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)}`,
  "a Stripe charge": () => `ch_3${some(base62, 23)}`,
  "a number": () => String(below(10_000_000)),
  "an order": () => `order-${below(100_000)}`,
  "an amount": () => `${below(10_000)}.${some(digits, 2)}`,
  "a date": () => day().toISOString(),
  "a day": () => day().toISOString().slice(0, 10),
  "an IPv4 address": () => [10, below(256), below(256), below(256)].join("."),
  "an IPv6 address": () => `2001:db8::${some(hex, 4)}:${some(hex, 3)}`,
  "a mail address": () => `${pick(words)}.${some(lower, 4)}@example.com`,
  "a URL": () => `https://example.com/${pick(words)}?id=${some(base36, 6)}`,
  "quoted text": () => `"${pick(words)} ${pick(words)}"`,
  "an address in memory": () => `0x${some(hex, 12)}`,
  "a version": () => `${below(20)}.${below(20)}.${below(20)}`,
};
/** The share of ids in percent that may look like a word, or like a word and a number. Other formats: none. */
const mayDiffer: Readonly<Record<string, number>> = {
  "a nanoid": 2,
  "a cuid": 1,
  "a short commit": 1,
  "a commit of eight digits": 1,
  "a pod of a daemon set": 1,
  "a pod of a cron job": 1,
  "eight characters in base 36": 5,
  "ten characters in base 36": 3,
  "twelve characters in base 36": 2,
  "eleven characters in base 62": 3,
  "twenty characters in base 62": 1,
  "base64 of twelve bytes": 3,
  base64url: 1,
  "a Slack team": 5,
  "an EC2 instance": 1,
  "a subnet": 5,
  "an access key": 3,
};

const count = 1_000;

describe("messages with ids of one format have one cause", () => {
  it.each(Object.entries(formats))("%s", (name, makeId) => {
    const causes = new Map<string, string[]>();
    for (let n = 0; n < count; n += 1) {
      const id = makeId();
      const cause = commonMessage(`The record ${id} of (${id}) was refused`);
      causes.set(cause, [...(causes.get(cause) ?? []), id]);
    }
    const [usual, ...others] = [...causes].sort(([, one], [, other]) => other.length - one.length);
    const different = others.flatMap(([, ids]) => ids);
    expect(usual![0]).toMatch(/^The record \S+ of \(\S+\) was refused$/);
    expect(different.length, different.slice(0, 5).join(" ")).toBeLessThanOrEqual(
      ((mayDiffer[name] ?? 0) / 100) * count,
    );
  });
});

/** One word in many messages of the same kind. All of these are different causes. */
const distinctWords = `
  application authentication availability backpressure benchmark bottleneck brotli cache certificate checksum clickhouse
  cloudflare constraint createLeasehold cryptography currency customer database deadlock decryption deduplication deployment
  ECONNREFUSED ECONNRESET EADDRINUSE ENOTFOUND EPIPE ETIMEDOUT elasticsearch endpoint epoll getUserById goroutine grafana
  graphql haproxy handshake heartbeat hostname http2 idempotency index inotify invoice JsonWebTokenError json jwt kafka
  KafkaJSNumberOfRetriesExceeded keepalive kubectl kubernetes latency length64 libcrypto memcached middleware
  MongoServerSelectionError msgpack mutex namespace netlify nginx oauth2 opentelemetry parameter password payload permission
  pgbouncer postgresql prometheus protobuf proxy pthread queue quota rabbitmq rate-limit redis request-timeout rhythm
  SequelizeDatabaseError semaphore serialization sequence session signature socket SQLITE_BUSY SQLITE_LOCKED
  SSL_ERROR_SYSCALL sshd straightforward strengths subscription synchronous syscall systemctl tcp terraform threshold
  throughput timeout timestamp token traefik transaction typescript uint8array UnhandledPromiseRejection unprocessable
  user_not_found utf8 variable vercel webhook webpack websocket workflow worldwide x509 XMLHttpRequest xlsx xpath zipkin zlib
  Datenbankverbindung Rechnungsnummer Verbindung connexion utilisateur conexion przetwarzanie
  package.json tsconfig.json config.yaml schema.prisma main.ts application/json text/html api.example.com db.example.com
`
  .trim()
  .split(/\s+/);

const distinctMessages = [
  "Request failed with status code 400",
  "Request failed with status code 401",
  "Request failed with status code 404",
  "Request failed with status code 429",
  "Request failed with status code 500",
  "Request failed with status code 503",
  "HTTP 404",
  "HTTP 500",
  "HTTP/1.1 502 Bad Gateway",
  "status: 403",
  "status=504",
  'answer {"status":404}',
  'answer {"status":500}',
  "GET https://example.com/a: 404",
  "GET https://example.com/a: 500",
  "GET /orders/17 404",
  "GET /orders/17 500",
  "The bank answered with 402",
  "The bank answered with 503",
  "upstream returned 502",
  "upstream returned 504, trying again",
  "command failed with exit code 1",
  "command failed with exit code 137",
  "database error code: 23505",
  "database error code: 40001",
  "SQLSTATE 42P01",
  "SQLSTATE 42703",
  "MySQL error 1045",
  "MySQL error 1205",
  "errno -104",
  "errno -110",
  "connect ECONNREFUSED 10.0.0.1:5432",
  "connect ETIMEDOUT 10.0.0.1:5432",
  "read ECONNRESET",
  "getaddrinfo ENOTFOUND db.example.com",
  "getaddrinfo EAI_AGAIN db.example.com",
  "Cannot read properties of undefined (reading 'id')",
  "Cannot read properties of null (reading 'id')",
  "Cannot set properties of undefined (setting 'id')",
  "fetch failed",
  "socket hang up",
  "Unexpected token < in JSON at position 0",
  "Unexpected end of JSON input",
  "duplicate key value violates unique constraint",
  "insert or update violates foreign key constraint",
  "null value in column violates not-null constraint",
  "deadlock detected",
  "could not serialize access due to concurrent update",
  "canceling statement due to statement timeout",
  "canceling statement due to lock timeout",
  "remaining connection slots are reserved",
  "too many clients already",
  "The order was declined",
  "The order was expired",
  "The card was declined",
  "The card has expired",
  "Invalid signature",
  "Invalid token",
];

describe("messages of different kinds have different causes", () => {
  it("by one word", () => {
    const causes = distinctWords.map((word) => commonMessage(`The part ${word} is not ready`));
    expect(new Set(causes).size).toBe(distinctWords.length);
    expect(causes.filter((cause) => cause.includes(" # "))).toEqual([]);
  });

  it("by words, status codes and error codes", () => {
    const causes = new Map<string, string>();
    for (const message of distinctMessages) {
      const cause = commonMessage(message);
      expect(causes.get(cause), message).toBeUndefined();
      causes.set(cause, message);
    }
  });

  it("but not by numbers that look like codes", () => {
    for (const [one, other] of [
      ["The query returned 404 rows", "The query returned 500 rows"],
      ["postal code 12345", "postal code 54321"],
      ["Order 404 is gone", "Order 500 is gone"],
      ["status 17 of 20", "status 18 of 20"],
    ])
      expect(commonMessage(one!)).toBe(commonMessage(other!));
  });
});
