// What the product's own checker says of a text while it is typed.

import { useEffect, useState } from "react";
import { api, data, reason, type Schemas } from "../api/client";

export interface Checked {
  /** The text that this is about. */
  text: string;
  problems: Schemas["Problem"][];
  tool: string | null;
  error: string | null;
}

const PAUSE = 250;

export function useCheck(file: string, text: string): Checked & { isCurrent: boolean } {
  const [checked, setChecked] = useState<Checked>({ text: "", problems: [], tool: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      data(api.POST("/api/check", { body: { file, content: text }, signal: stop.signal }))
        .then((answer) => setChecked({ text, problems: answer.files[0]?.problems ?? [], tool: answer.files[0]?.tool ?? null, error: null }))
        .catch((error: unknown) => { if (!stop.signal.aborted) setChecked((before) => ({ ...before, error: reason(error) })); });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [file, text]);
  return { ...checked, isCurrent: checked.text === text };
}
