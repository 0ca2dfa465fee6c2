import { createDashboard, type Dashboard, type DashboardOptions } from "@leasehold/dashboard";

interface User {
  readonly name: string;
  readonly isOperator: boolean;
}

/** `findUser` stands for the sign-in of your application. */
export const create = (
  { leasehold, stateAdapter }: Pick<DashboardOptions, "leasehold" | "stateAdapter">,
  findUser: (cookie: string | null) => Promise<User | undefined>,
): Dashboard => {
  // #region create
  const dashboard = createDashboard({
    leasehold, // what createLeasehold returned
    stateAdapter, // the one that it was created with
    basePath: "/ops/jobs",
    authorize: async (request) => {
      const user = await findUser(request.headers.get("cookie")); // your sign-in
      if (user === undefined) return false; // the request is refused
      return { user: user.name, can: user.isOperator ? ["read", "payloads", "redrive", "cancel"] : ["read"] };
    },
  });
  // #endregion
  return dashboard;
};
