/** Ends a subscription. Idempotent. */
export type Dispose = () => Promise<void>;

/**
 * Carries notifications between processes. A notification is only a hint: it may be lost, repeated, late or forged, and
 * everything stays correct by polling alone. Core sends it only after the commit it is about.
 *
 * To use another broker, write a `NotifyTransport` and pass it to `createNotifyAdapter`.
 *
 * A `listen…` promise resolves once the subscription is active; its callback is called synchronously on arrival and
 * must not throw. A rejected `notify…` is reported and otherwise ignored.
 */
export interface NotifyAdapter {
  /**
   * True if the adapter also decides who is notified within this process. Otherwise core notifies the workers of this
   * process itself, at once. Default: false.
   */
  readonly coversOwnProcess?: boolean;

  /** `count` jobs of a type became runnable: about that many idle workers should look. */
  notifyJobScheduled(typeName: string, count: number): Promise<void>;

  /**
   * Calls back for at most `count` listeners of each notification, as far as the transport can count. A listener whose
   * `wantsHint` answers false takes no part: a busy worker must not use up the notification that an idle one needs.
   * `typeNames` null listens for every type.
   */
  listenJobScheduled(
    typeNames: readonly string[] | null,
    onScheduled: (typeName: string) => void,
    wantsHint?: () => boolean,
  ): Promise<Dispose>;

  /** The sequences reached their end, completed or failed. */
  notifyJobSequenceCompleted(sequenceIds: readonly string[]): Promise<void>;

  /** Every listener of the id is called. */
  listenJobSequenceCompleted(
    sequenceIds: readonly string[],
    onCompleted: (sequenceId: string) => void,
  ): Promise<Dispose>;

  /** Running jobs were completed, cancelled, deleted or reaped by someone other than their holder. */
  notifyJobOwnershipLost(jobIds: readonly string[]): Promise<void>;

  /** Called for every job; a worker knows which ones it holds. */
  listenJobOwnershipLost(onLost: (jobId: string) => void): Promise<Dispose>;

  /** Jobs of these queues that were held back may run now: a pause has ended, or a limit was raised. */
  notifyQueueOpened(queues: readonly string[]): Promise<void>;

  /** Every listener of the queue is called. */
  listenQueueOpened(queues: readonly string[], onOpened: (queue: string) => void): Promise<Dispose>;

  /** Ends every subscription. Idempotent. */
  close(): Promise<void>;
}
