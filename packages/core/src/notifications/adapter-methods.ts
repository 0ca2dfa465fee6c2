import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";
import { AdapterClosedError } from "../errors.ts";
import type { NotificationKind } from "./kinds.ts";
import type { NotificationListeners } from "./listeners.ts";

export interface AdapterMethodsOptions {
  /** For error messages. */
  readonly name: string;
  readonly listeners: NotificationListeners;
  /** `count` only for kinds that are counted. */
  readonly send: (kind: NotificationKind, names: readonly string[], count?: number) => Promise<void>;
  readonly close?: () => Promise<void>;
}

/** The methods of a notify adapter, for whoever can send names and has listeners. */
export const createAdapterMethods = ({
  name,
  listeners,
  send,
  close,
}: AdapterMethodsOptions): NotifyAdapter => {
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (closing) throw new AdapterClosedError(name);
  };
  const notify = async (kind: NotificationKind, names: readonly string[], count?: number): Promise<void> => {
    assertOpen();
    await send(kind, names, count);
  };
  const listen = async (...listener: Parameters<NotificationListeners["add"]>): Promise<Dispose> => {
    assertOpen();
    const remove = listeners.add(...listener);
    return async () => remove();
  };

  return {
    notifyJobScheduled: (typeName, count) => notify("jobScheduled", [typeName], count),
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      listen("jobScheduled", typeNames, onScheduled, wantsHint),
    notifyJobSequenceCompleted: (sequenceIds) => notify("sequenceFinished", sequenceIds),
    listenJobSequenceCompleted: (sequenceIds, onCompleted) =>
      listen("sequenceFinished", sequenceIds, onCompleted),
    notifyJobOwnershipLost: (jobIds) => notify("ownershipLost", jobIds),
    listenJobOwnershipLost: (onLost) => listen("ownershipLost", null, onLost),
    notifyQueueOpened: (queues) => notify("queueOpened", queues),
    listenQueueOpened: (queues, onOpened) => listen("queueOpened", queues, onOpened),
    close: () => {
      listeners.clear();
      closing ??= close?.() ?? Promise.resolve();
      return closing;
    },
  };
};
