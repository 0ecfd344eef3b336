// How two texts differ, line by line, as a unified diff without its heads.

const MAX_LINES = 1500;

export function diffLines(before: string, after: string): string {
  if (before === after) return "";
  const [a, b] = [before.split("\n"), after.split("\n")];
  // Texts this long are not compared line by line: it would take the page's time.
  if (a.length > MAX_LINES || b.length > MAX_LINES) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)].join("\n");
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push(` ${a[i++]}`), (j += 1);
    else if (i < a.length && (j >= b.length || longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) lines.push(`-${a[i++]}`);
    else lines.push(`+${b[j++]}`);
  }
  return lines.join("\n");
}
