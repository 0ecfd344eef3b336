// Whole numbers that JavaScript cannot hold: beyond 2^53 the number that would be sent may not be the one that was typed or stored.

import type { Json } from "../api/client";

/** Whether a number may have been rounded when it was read. Above 10^21 only powers of ten are written out, which nobody types digit by digit. */
export const isRounded = (value: number) => Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;

/** Where a value has such a number, as a JSON pointer. */
export function rounded(value: Json | undefined, pointer = ""): string | null {
  if (typeof value === "number") return isRounded(value) ? pointer : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [name, part] of Object.entries(value)) {
    const found = rounded(part, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    if (found !== null) return found;
  }
  return null;
}
