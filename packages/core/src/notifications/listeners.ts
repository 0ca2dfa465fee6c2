interface ScheduledListener {
  readonly typeNames: ReadonlySet<string> | null;
  readonly onScheduled: (typeName: string) => void;
  readonly wantsHint: () => boolean;
}

/** Wrapped, so that the same function may subscribe twice and each subscription ends by itself. */
interface IdListener {
  readonly call: (id: string) => void;
}

type Remove = () => void;

/** Who listens within this process. A listener that throws is reported and keeps nobody else from hearing. */
export interface HintListeners {
  addScheduled(
    typeNames: readonly string[] | null,
    onScheduled: (typeName: string) => void,
    wantsHint?: () => boolean,
  ): Remove;
  addCompleted(sequenceIds: readonly string[], onCompleted: (sequenceId: string) => void): Remove;
  addLost(onLost: (jobId: string) => void): Remove;
  /** Whether anybody waits for the end of a sequence; if not, there is no need to look at whose end was announced. */
  readonly awaitCompletions: boolean;
  /** How many listeners of the type would take a hint now. */
  wanting(typeName: string): number;
  /** Calls at most `limit` listeners of the type that want a hint, those first that have waited longest for one. */
  tellScheduled(typeName: string, limit: number): void;
  tellCompleted(sequenceId: string): void;
  tellLost(jobId: string): void;
  /**
   * Hints may have been missed: whoever waits for a job or a sequence looks once. Lost ownership needs nothing, the
   * next heartbeat finds it.
   */
  tellEveryone(): void;
  clear(): void;
}

const always = (): boolean => true;

export const createHintListeners = (onError: (error: unknown) => void): HintListeners => {
  // In the order in which they are due for a hint: whoever gets one goes to the end.
  const scheduled = new Set<ScheduledListener>();
  const completed = new Map<string, Set<IdListener>>();
  const lost = new Set<IdListener>();

  const guarded = (call: () => void): void => {
    try {
      call();
    } catch (error) {
      onError(error);
    }
  };

  const wants = ({ wantsHint }: ScheduledListener): boolean => {
    try {
      return wantsHint();
    } catch (error) {
      onError(error);
      return false;
    }
  };

  const matches = ({ typeNames }: ScheduledListener, typeName: string): boolean =>
    typeNames === null || typeNames.has(typeName);

  const hint = (listener: ScheduledListener, typeName: string): void => {
    scheduled.delete(listener);
    scheduled.add(listener);
    guarded(() => listener.onScheduled(typeName));
  };

  const tell = (listeners: Set<IdListener> | undefined, id: string): void => {
    for (const listener of Array.from(listeners ?? [])) {
      // An earlier callback may have ended this subscription.
      if (listeners?.has(listener)) guarded(() => listener.call(id));
    }
  };

  const removeCompleted = (id: string, listener: IdListener): void => {
    const listeners = completed.get(id);
    listeners?.delete(listener);
    if (listeners?.size === 0) completed.delete(id);
  };

  return {
    addScheduled: (typeNames, onScheduled, wantsHint = always) => {
      const listener = { typeNames: typeNames && new Set(typeNames), onScheduled, wantsHint };
      scheduled.add(listener);
      return () => scheduled.delete(listener);
    },
    addCompleted: (sequenceIds, onCompleted) => {
      const ids = new Set(sequenceIds);
      const listener: IdListener = { call: onCompleted };
      for (const id of ids) completed.set(id, (completed.get(id) ?? new Set()).add(listener));
      return () => {
        for (const id of ids) removeCompleted(id, listener);
      };
    },
    addLost: (onLost) => {
      const listener: IdListener = { call: onLost };
      lost.add(listener);
      return () => lost.delete(listener);
    },
    get awaitCompletions() {
      return completed.size > 0;
    },
    wanting: (typeName) => {
      let count = 0;
      for (const listener of scheduled) if (matches(listener, typeName) && wants(listener)) count += 1;
      return count;
    },
    tellScheduled: (typeName, limit) => {
      let remaining = limit;
      // A copy, because a hinted listener is moved to the end, where it would be met again.
      for (const listener of Array.from(scheduled)) {
        if (remaining <= 0) break;
        if (!matches(listener, typeName) || !scheduled.has(listener) || !wants(listener)) continue;
        remaining -= 1;
        hint(listener, typeName);
      }
    },
    tellCompleted: (sequenceId) => tell(completed.get(sequenceId), sequenceId),
    tellLost: (jobId) => tell(lost, jobId),
    tellEveryone: () => {
      for (const listener of Array.from(scheduled)) {
        // For a listener of every type, any name says as much.
        const [typeName] = listener.typeNames ?? [""];
        if (typeName !== undefined && scheduled.has(listener) && wants(listener)) hint(listener, typeName);
      }
      for (const id of Array.from(completed.keys())) tell(completed.get(id), id);
    },
    clear: () => {
      scheduled.clear();
      for (const listeners of completed.values()) listeners.clear();
      completed.clear();
      lost.clear();
    },
  };
};
