import { limitRules } from "../answers/jobs.ts";
import { listOf, nullable, objectOf as object, opaque, text as textAnswer } from "../answers/schemas.ts";
import { type Field, type Fields, objectOf, optional, orNull, text, whole } from "../http/fields.ts";
import {
  listRecurring,
  previewRecurring,
  previewTimes,
  recurringActions,
  updateRecurring,
} from "./recurring.ts";
import { toJson } from "../http/leasehold.ts";
import { get, post, type Route } from "./route.ts";

interface Scope {
  readonly queue: string | undefined;
  readonly typeName: string | undefined;
}

const scopeFields: Fields<Scope> = { queue: optional(text()), typeName: optional(text()) };

const listRules = get({
  path: "limits",
  needs: "read",
  summary: "Limits, rates and pauses, with what is in use of them.",
  query: { queue: optional(text()) },
  answer: limitRules,
  handle: async ({ leasehold }, { query }) => ({ rules: toJson([...(await leasehold.limits.list(query))]) }),
});

const listGroups = get({
  path: "groups",
  needs: "read",
  summary: "The groups of a type that wait or run.",
  query: { typeName: text(), queue: optional(text()), cursor: optional(text()) },
  answer: object({ groups: listOf(opaque()), cursor: nullable(textAnswer) }),
  handle: async ({ leasehold }, { query }) => {
    const { groups, cursor } = await leasehold.limits.listGroups(query);
    return { groups: toJson([...groups]), cursor };
  },
});

const pauseRoute = (kind: "pause" | "resume"): Route =>
  post({
    path: `limits/${kind}`,
    needs: "limits",
    summary: kind === "pause" ? "Starts no more jobs of a queue or type." : "Ends a pause.",
    body: scopeFields,
    answer: opaque(),
    handle: (services, { body, viewer }) =>
      services.actions.record(viewer.user, kind, body, () => services.leasehold.limits[kind](body as never)),
  });

interface RateBody {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number | null | undefined;
}

interface LimitsBody {
  readonly concurrency: number | null | undefined;
  readonly rate: RateBody | null | undefined;
}

interface SetLimitsBody extends Scope, LimitsBody {
  readonly perGroup: LimitsBody | null | undefined;
  readonly expectedVersion: number | undefined;
}

// Core checks the bounds of each. These keep numbers whole and exact.
const limit: Field<number> = whole({ min: 1, max: 2 ** 31 - 1 });

const rateFields: Fields<RateBody> = {
  limit,
  perMs: whole({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  burst: optional(orNull(limit)),
};

const limitsFields: Fields<LimitsBody> = {
  concurrency: optional(orNull(limit)),
  rate: optional(orNull(objectOf(rateFields))),
};

const setLimitsFields: Fields<SetLimitsBody> = {
  ...scopeFields,
  ...limitsFields,
  perGroup: optional(orNull(objectOf(limitsFields))),
  expectedVersion: optional(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })),
};

const setLimits = post({
  path: "limits/set",
  needs: "limits",
  summary: "Changes the limits of a queue or type: what is named changes, and null removes it.",
  body: setLimitsFields,
  answer: opaque(),
  handle: (services, { body, viewer }) =>
    services.actions.record(viewer.user, "set_limits", body, () =>
      services.leasehold.limits.set(body as never),
    ),
});

export const limitRoutes: readonly Route[] = [
  listRules,
  listGroups,
  pauseRoute("pause"),
  pauseRoute("resume"),
  setLimits,
  listRecurring,
  previewRecurring,
  previewTimes,
  updateRecurring,
  ...recurringActions,
];
