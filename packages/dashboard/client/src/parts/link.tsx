import type { ComponentChildren } from "preact";
import { addressOf } from "../state/api.ts";
import { navigate } from "../state/router.ts";

interface Props {
  readonly to: string;
  readonly class?: string;
  readonly title?: string;
  readonly "aria-label"?: string;
  readonly "aria-current"?: "page" | undefined;
  readonly children: ComponentChildren;
}

/** A link to another view. Opens in place, and in a new tab as every link does. */
export const Link = ({ to, children, ...rest }: Props) => (
  <a
    {...rest}
    href={addressOf(to)}
    onClick={(event: MouseEvent) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      navigate(to);
    }}
  >
    {children}
  </a>
);

const schemes = new Set(["http:", "https:"]);

/** A link that comes from elsewhere: only to the web, never a script. */
export const OutsideLink = ({
  href,
  children,
}: {
  readonly href: string;
  readonly children: ComponentChildren;
}) => {
  const url = URL.canParse(href, location.href) ? new URL(href, location.href) : undefined;
  if (url === undefined || !schemes.has(url.protocol)) return <>{children}</>;
  return (
    <a class="link" href={url.href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
};
