import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Session } from "../../src/answers/numbers.ts";
import { ActionsPage } from "./pages/actions.tsx";
import { ComparePage } from "./pages/compare.tsx";
import { DoctorPage } from "./pages/doctor.tsx";
import { FailedPage } from "./pages/failed.tsx";
import { JobPage } from "./pages/job.tsx";
import { JobsPage } from "./pages/jobs.tsx";
import { LimitsPage } from "./pages/limits.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { QueuesPage } from "./pages/queues.tsx";
import { RecurringPage } from "./pages/recurring.tsx";
import type * as TreeModule from "./pages/tree.tsx";
import { WorkersPage } from "./pages/workers.tsx";
import { Empty, Problem, Skeleton } from "./parts/card.tsx";
import { listenForKeys } from "./parts/help.tsx";
import { Link } from "./parts/link.tsx";
import { Shell, Top } from "./parts/shell.tsx";
import { type ApiError, read } from "./state/api.ts";
import { parts } from "./state/router.ts";
import { session } from "./state/session.ts";
import "./style/numbers.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/tables.css";
import "./style/overview.css";
import "./style/job.css";
import "./style/tree.css";
import "./style/screens.css";

/** With the library that draws it, which no other page needs. */
const LazyTreePage = ({ id }: { readonly id: string }) => {
  const [loaded, setLoaded] = useState<typeof TreeModule>();
  useEffect(() => void import("./pages/tree.tsx").then(setLoaded), []);
  return loaded === undefined ? <Skeleton rows={10} /> : <loaded.TreePage id={id} />;
};

const NotFoundPage = () => (
  <>
    <Top title="Not found" />
    <div class="card">
      <Empty icon="find" title="There is no such page.">
        Go to the{" "}
        <Link class="link" to="/">
          overview
        </Link>
        .
      </Empty>
    </div>
  </>
);

const pages: Readonly<Record<string, () => preact.JSX.Element>> = {
  "": () => <OverviewPage />,
  queues: () => <QueuesPage />,
  jobs: () => <JobsPage />,
  failed: () => <FailedPage />,
  recurring: () => <RecurringPage />,
  limits: () => <LimitsPage />,
  workers: () => <WorkersPage />,
  compare: () => <ComparePage />,
  doctor: () => <DoctorPage />,
  actions: () => <ActionsPage />,
};

const Page = () => {
  const [first = "", second, ...rest] = parts.value ?? ["?"];
  if (rest.length > 0) return <NotFoundPage />;
  if (second === undefined) return Object.hasOwn(pages, first) ? pages[first]!() : <NotFoundPage />;
  if (first === "jobs") return <JobPage key={second} id={second} />;
  return first === "trees" ? <LazyTreePage key={second} id={second} /> : <NotFoundPage />;
};

const retryMs = 3_000;

const App = () => {
  const [problem, setProblem] = useState<ApiError>();
  useEffect(() => {
    const ask = async (): Promise<void> => {
      try {
        session.value = await read<Session>("session");
        setProblem(undefined);
      } catch (error) {
        setProblem(error as ApiError);
        setTimeout(() => void ask(), retryMs);
      }
    };
    void ask();
  }, []);
  if (session.value !== undefined)
    return (
      <Shell>
        <Page />
      </Shell>
    );
  return (
    <main class="alone">
      <h1 class="unseen">Leasehold</h1>
      {problem === undefined ? <Skeleton rows={10} /> : <Problem error={problem} />}
    </main>
  );
};

listenForKeys();

render(<App />, document.querySelector("#app")!);
