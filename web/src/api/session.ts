// Who this browser is: a cookie that this page cannot read, and a key that it keeps and sends with every request.

import { m } from "../messages";

const KEY = "toolcrib.key";

let key = read();
const listeners = new Set<() => void>();

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const session = {
  key: () => key,
  subscribe(listener: () => void) {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  set(next: string | null) {
    key = next;
    try {
      if (next === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, next);
    } catch {
      // Without storage the browser is signed in for as long as the page is open.
    }
    for (const listener of listeners) listener();
  },
};

// Another tab of this browser signs in or out.
addEventListener("storage", (event) => {
  if (event.key === KEY && event.newValue !== key) {
    key = event.newValue;
    for (const listener of listeners) listener();
  }
});

/** Exchanges the code of the link, if the address has one. Returns what went wrong, in words of the server. */
export async function signInByLink(): Promise<string | null> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return null;
  // The code is used up: it belongs into no history.
  history.replaceState(null, "", location.pathname + location.search);
  const response = await fetch("/api/browsers", { method: "POST", headers: { "Toolcrib-Code": code } }).catch(() => null);
  if (!response) return m.common.noAnswer;
  const body = await response.json();
  if (!response.ok) return session.key() === null ? body.error.message : null;
  session.set(body.key);
  return null;
}
