import { addressOf } from "../state/api.ts";
import { parts } from "../state/router.ts";
import { session } from "../state/session.ts";
import { announcement } from "../state/settings.ts";

/** The same section of another store. What is below a section is of this store only. */
const sectionIn = (path: string): string => {
  const [section = "", ...below] = parts.value ?? [];
  return below.length === 0 ? `${path}/${section}` : `${path}/`;
};

/** Which store this is, and the switch to the others that the server has. */
export const Installation = () => {
  const { environment, stores = [] } = session.value ?? {};
  if (environment == null) return null;
  if (stores.length < 2) return <span class={`environment ${environment.tone}`}>{environment.label}</span>;
  return (
    <select
      class={`environment ${environment.tone}`}
      aria-label="Store"
      value={stores.find(({ isThis }) => isThis)?.path}
      onChange={({ currentTarget }) => location.assign(sectionIn(currentTarget.value))}
    >
      {stores.map(({ label, path }) => (
        <option key={path} value={path}>
          {label}
        </option>
      ))}
    </select>
  );
};

const signOut = async (path: string): Promise<void> => {
  try {
    const { ok } = await fetch(path, { method: "POST" });
    if (ok) return location.assign(addressOf("/"));
  } catch {
    // The server cannot be reached, so that the browser is still signed in.
  }
  announcement.value = "You are still signed in: the server did not answer.";
};

/** Only where the server has signed the browser in itself. */
export const SignOut = () => {
  const path = session.value?.signOutPath;
  return path == null ? null : (
    <button type="button" onClick={() => void signOut(path)}>
      Sign out
    </button>
  );
};
