import { InvalidOptionError, readOnError, requireOptions } from "leasehold/adapter";
import type { NatsClient, NatsKv } from "./client.ts";

/** Options of `createNatsNotifyAdapter`. */
export interface NatsNotifyAdapterOptions {
  /** An open connection, made with `maxReconnectAttempts: -1`. It remains the caller's to close. */
  readonly nc: NatsClient;
  /** A bucket whose entries expire, for counters; without it as many idle workers look in each process as there are jobs. */
  readonly kv?: NatsKv | undefined;
  /** Every subject begins with it. Default: "leasehold". The same in every process that shares jobs. */
  readonly subjectPrefix?: string | undefined;
  /** Called with what goes wrong in the background: lost connections, listeners that throw. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface CheckedOptions {
  readonly nc: NatsClient;
  readonly kv: NatsKv | undefined;
  readonly subjectPrefix: string;
  readonly onError: (error: unknown) => void;
}

const prefixShape = /^(?=.{1,64}$)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

const clientMethods = ["publish", "subscribe", "flush", "status", "closed", "isClosed"] as const;

const kvMethods = ["create", "update", "get", "status"] as const;

const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");

/** Both clients keep the options they were made with, though their types do not say so. */
const assertUsable = (nc: NatsClient): void => {
  const { options } = nc as {
    options?: { reconnect?: unknown; maxReconnectAttempts?: unknown; noEcho?: unknown };
  };
  if (options?.reconnect === false || (options?.maxReconnectAttempts ?? -1) !== -1) {
    const reason = "a connection that gives up would end the notifications for good";
    throw new InvalidOptionError("nc", `must be made with { maxReconnectAttempts: -1 }: ${reason}`, nc);
  }
  if (options?.noEcho) {
    const reason = "workers of this process would not hear of its own jobs";
    throw new InvalidOptionError("nc", `must be made without { noEcho: true }: ${reason}`, nc);
  }
};

export const checkOptions = (passed: NatsNotifyAdapterOptions): CheckedOptions => {
  const options = requireOptions<keyof NatsNotifyAdapterOptions>(passed, "createNatsNotifyAdapter", {
    nc: true,
    kv: true,
    subjectPrefix: true,
    onError: true,
  }) as NatsNotifyAdapterOptions;
  const { nc, kv, subjectPrefix = "leasehold", onError } = options;
  if (!hasMethods(nc, clientMethods) || nc.isClosed()) {
    throw new InvalidOptionError("nc", "must be an open NATS connection", nc);
  }
  assertUsable(nc);
  if (kv !== undefined && !hasMethods(kv, kvMethods)) {
    throw new InvalidOptionError("kv", "must be a JetStream KV bucket", kv);
  }
  if (typeof subjectPrefix !== "string" || !prefixShape.test(subjectPrefix)) {
    const shape = "1 to 64 letters, digits, _ or -, in parts separated by dots";
    throw new InvalidOptionError("subjectPrefix", `must have ${shape}`, subjectPrefix);
  }
  return { nc, kv, subjectPrefix, onError: readOnError(onError) };
};
