// Texts that are being written, kept for as long as the page is open: looking at something else loses nothing.

import { useSyncExternalStore } from "react";

export interface Draft {
  content: string;
  /** The digest of the saved text that this one replaces; none for a file that is new. */
  digest?: string;
  /** What was saved last. */
  saved: string | null;
}

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

export const draftKey = (scope: string, file: string) => `${scope}/${file}`;

export function setDraft(key: string, draft: Draft | null) {
  if (draft === null) drafts.delete(key);
  else drafts.set(key, draft);
  for (const listener of listeners) listener();
}

export const draftOf = (key: string) => drafts.get(key) ?? null;

export function useDraft(key: string): Draft | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, () => draftOf(key));
}

export const isChanged = (draft: Draft | null) => draft !== null && draft.content !== draft.saved;

// Leaving the page would lose what is not saved.
addEventListener("beforeunload", (event) => {
  if ([...drafts.values()].some(isChanged)) event.preventDefault();
});
