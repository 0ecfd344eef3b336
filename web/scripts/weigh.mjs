// Fails if the first load is heavier than it may be: everything that index.html names and what that imports at once, gzipped, without fonts.
import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const LIMIT = 220 * 1024;
const dist = new URL("../dist/", import.meta.url);
const index = await readFile(new URL("index.html", dist), "utf8");
const files = await readdir(new URL("assets/", dist));
const first = new Set();
const queue = [...index.matchAll(/\/ui\/assets\/([\w.-]+\.(?:js|css))/g)].map((found) => found[1]);
while (queue.length > 0) {
  const file = queue.pop();
  if (first.has(file)) continue;
  first.add(file);
  if (!file.endsWith(".js")) continue;
  const text = await readFile(new URL(`assets/${file}`, dist), "utf8");
  for (const found of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)) queue.push(found[1]);
}
let total = gzipSync(index).length;
for (const file of first) {
  const size = gzipSync(await readFile(new URL(`assets/${file}`, dist))).length;
  console.log(`${String(size).padStart(8)}  ${file}`);
  total += size;
}
console.log(`${String(total).padStart(8)}  first load, gzipped, of ${files.length} files; the limit is ${LIMIT}`);
if (total > LIMIT) {
  console.error("the first load is too heavy");
  process.exit(1);
}
