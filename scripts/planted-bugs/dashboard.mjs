// Mistakes in the actions of the dashboard, and in what core does for them. They are hunted with the tests of the dashboard. `find`
// must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages");
export const dashboardBugs = bugs;

plant("dashboard/src/actions/run.ts", [
  ["every attempt begins anew", ["let counts = countsOf(job);", "let counts = nothingDone;"]],
  ["a resumed action begins anew", ["(input as ActionInput).resumed?.from ?? nothingDone", "nothingDone"]],
  ["progress is not reported", ["await reportProgress(counts);", ""]],
  [
    "a portion is not added to those before",
    ["changed: counts.changed + changed.length", "changed: changed.length"],
  ],
  ["the pace is ignored", ["if (pace !== null)", "if (false)"]],
  [
    "a pace limits nothing but the pauses",
    ["const limit = Math.min(portionSize, pace ?? portionSize);", "const limit = portionSize;"],
  ],
  [
    "a closed dashboard finishes its actions first",
    ["AbortSignal.any([signal, stop.signal, closing.signal])", "AbortSignal.any([signal, stop.signal])"],
  ],
  [
    "a closed dashboard stops its actions",
    ["if (!stop.signal.aborted) return rescheduleJob({ afterMs: 0 });", ""],
  ],
  ["a stop does not wait for the portion under way", ["await here?.end.catch(() => undefined);", ""]],
  [
    "an action of another process is not stopped",
    ["if (isOpen(await requireJob(id))) await own.jobs.cancel({ ids: [id], reason });", ""],
  ],
  ["two can resume an action", ["if (changed.length === 0) throw underWay();", ""]],
  ["the log does not name who stopped", ["here?.stop.abort(reason)", "here?.stop.abort(stoppedBy)"]],
  ["the log does not name who resumed", ["resumed?.by ?? user", "user"]],
  [
    "any kind of action can be stopped by any right",
    ["kind === undefined || job.input.kind === kind", "true"],
  ],
  ["a read-only dashboard runs actions", ["if (readOnly || closing.signal.aborted) return;", ""]],
  [
    "nobody continues what a crashed dashboard left",
    ["if (!readOnly) continueOpenActions().catch(() => undefined);", ""],
  ],
  ["reading an action leaves it to others", ["if (isOpen(job)) await ensureWorker();", ""]],
  [
    "the log shows what errors of the store contain",
    ["error instanceof LeaseholdError ? error.message : unknownError", "(error as Error).message"],
  ],
  [
    "an error is retried instead of shown",
    [
      "if (error instanceof StoreCallTimeoutError || stateAdapter.isTransientError(error)) throw error;",
      "if (error) throw error;",
    ],
  ],
  ["the codec of the Leasehold is not used", [", ...storageOptionsOf(original)", ""]],
  [
    "a change is not part of its entry's transaction",
    ['await log(ctx, result, "done");', 'await log({}, result, "done");'],
  ],
  [
    "a change that fails leaves no trace",
    ["await written.catch(() => undefined);", "await written.catch(() => undefined).then(() => open());"],
    ['log(ctx, undefined, "failed")', "Promise.resolve()"],
  ],
  ["a stopped action seems to have failed", ['if (reason === "cancelled")', 'if (reason === "expired")']],
]);

plant("dashboard/src/actions/action.ts", [
  ["the log can be deleted and cancelled", ["queue !== actionQueue;", "queue !== `${actionQueue}!`;"]],
  ["a time in a filter stays a text", ["isTimeField(name) ? new Date(String(value)) : value", "value"]],
]);

plant("dashboard/src/actions/hide.ts", [
  [
    "actions are part of the backlog and of causes",
    ["boolean => queue !== actionQueue;", "boolean => queue !== `${actionQueue}!`;"],
  ],
]);

plant("dashboard/src/routes/actions.ts", [
  [
    "keys in a filter are shown to everybody",
    ['typeof shown === "string" ? shown : "(hidden)"', 'typeof shown === "number" ? shown : key'],
  ],
]);

plant("dashboard/src/routes/tree.ts", [
  [
    "a blocker that has continued is drawn as a circle",
    ["waitsFor.add(`${id} ${current.sequenceId}`)", "waitsFor.add(`${id} ${current.id}`)"],
  ],
  ["a large tree ends where it is cut", ["for (const job of jobs) add(job, -1);", "others.clear();"]],
]);

plant("dashboard/src/actions/preview.ts", [
  [
    "a plan is silent about what fails with it",
    ["for (const id of part.failedIds ?? []) failed.add(id);", ""],
  ],
  [
    "a plan forgets what goes on",
    ["isExact ? await countRest(", "isExact && failed.size < 0 ? await countRest("],
  ],
  ["a large plan counts what it looked at", ["await countAll(leasehold, choice)", "changed.length"]],
]);

plant("dashboard/src/http/rights.ts", [
  ["a rule decides about keys of no certain job", ["(job === null && rule !== undefined)", "false"]],
  [
    "a rule that fails shows what it was made to hide",
    ["      return true;\n    }\n  };", "      return false;\n    }\n  };"],
  ],
  [
    "a rule that hides nothing shows secrets",
    ['if (decision === "show") return false;', "if (!decision) return false;"],
  ],
]);

plant("dashboard/src/routes/jobs.ts", [
  [
    "the stack shows a hidden message",
    ['isShown ? show("stack", stack) : hide(stack)', 'show("stack", stack)'],
  ],
]);

plant("core/src/jobs/filter.ts", [
  [
    "actions are listed with other jobs",
    ["namesActions === true || queue !== actionQueue", "namesActions === true || queue !== ``"],
  ],
  ["actions are not found by their queue", ["queues?.includes(actionQueue) ||", ""]],
]);

plant("core/src/jobs/choose.ts", [
  ["an operation by filter includes actions", ["page.jobs.filter(listedBy(filter))", "page.jobs"]],
]);

plant("core/src/jobs/delete.ts", [
  ["a prune deletes the log", ["sequenceTypeNames: [actionTypeName]", "sequenceTypeNames: []"]],
]);

plant("dashboard/src/standalone/sign-in.ts", [
  [
    "the cookie of another user is taken",
    ["!isSame(signature, sign(user, `${name}:${ends}:${id}`))", "false"],
  ],
  ["a session never ends", ["session.endsAt <= now() || signedOut", "signedOut"]],
  ["who signs out stays signed in", ["signedOut.set(session.id, session.endsAt);", ""]],
]);

plant("dashboard/src/http/compress.ts", [
  [
    "answers to other sites are compressed",
    ["isForeign(request) ? undefined : chooseEncoding(request)", "chooseEncoding(request)"],
  ],
]);

plant("dashboard/src/routes/operate.ts", [
  [
    "a sequence of unknown types ends without a word",
    ["requireKnownEnd(job, services.jobTypes.get(job.typeName), body);", ""],
  ],
  [
    "the marker of a hidden value is stored",
    ["const input = restoreHidden(body.input, shown, job.input);", "const { input } = body;"],
  ],
]);
