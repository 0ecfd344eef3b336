// Where a problem is: the server counts bytes, the page characters.

import type { Schemas } from "../api/client";

export type Problem = Schemas["Problem"];

/** A place in bytes, as the server counts, as a place in the text. */
export function fromBytes(text: string, offset: number): number {
  let bytes = 0;
  let at = 0;
  for (const char of text) {
    if (bytes >= offset) return at;
    const code = char.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += char.length;
  }
  return at;
}
