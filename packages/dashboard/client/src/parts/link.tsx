import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { addressOf } from "../state/api.ts";
import { navigate } from "../state/router.ts";
import { announce } from "../state/settings.ts";
import { Icon } from "./icon.tsx";

/** On plain HTTP there is no clipboard for scripts; selected text can be copied all the same. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
};

const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
};

export const CopyButton = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const [isCopied, setIsCopied] = useState(false);
  const copyText = async (): Promise<void> => {
    const isDone = await copy(text);
    announce(isDone ? "Copied." : "The browser does not let this page copy.");
    setIsCopied(isDone);
    setTimeout(() => setIsCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      class="button quiet square"
      aria-label={label}
      title={label}
      onClick={() => void copyText()}
    >
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
};

/** The same thing for the command line. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code tabIndex={0}>{text}</code>
    <CopyButton text={text} label="Copy the command" />
  </div>
);

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
