import type { Situation } from "../../answers.ts";
import { Icon } from "../../parts/icon.tsx";
import { Link } from "../../parts/link.tsx";
import { Time } from "../../parts/time.tsx";

const icons = { calm: "calm", attention: "warning", trouble: "failed" } as const;

export const SituationCard = ({ situation }: { readonly situation: Situation }) => (
  <section class={`situation ${situation.level}`} aria-label="The situation">
    <Icon name={icons[situation.level]} />
    <p>
      {situation.sentences.map(({ text, href, since }, index) => (
        <span key={index}>
          {href === null ? text : <Link to={`/${href}`}>{text}</Link>}{" "}
          {since !== null && (
            <span class="dim">
              (since <Time at={since} seconds={false} />){" "}
            </span>
          )}
        </span>
      ))}
    </p>
  </section>
);
