import type { Dashboard } from "@leasehold/dashboard";

/** Stands for the module of an application that creates its dashboard. */
export let dashboard: Pick<Dashboard, "fetch">;

export const useDashboard = (created: Pick<Dashboard, "fetch">): void => {
  dashboard = created;
};
