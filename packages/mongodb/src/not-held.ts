import type { Document } from "mongodb";
import type { Store, StoreCall } from "./store.ts";

/** Leaves out the jobs that a write is known to have to wait for, or to fail at. */
export const notHeld = ({ sessions, setAside }: Store, { session }: StoreCall): Document => {
  // A transaction meets its own locks without waiting.
  if (session !== undefined) return {};
  const ids = [...sessions.lockedIds(), ...setAside.ids()];
  return ids.length === 0 ? {} : { _id: { $nin: ids } };
};
