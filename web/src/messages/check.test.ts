import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { named, problemsOf } from "./check";
import { en } from "./en";
import { zh } from "./zh";

const folder = join(import.meta.dirname, "..");
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file) && !/messages.(en|zh|check)|schema\.ts$|\.test\./.test(file)).map((file) => readFileSync(join(folder, file), "utf8"));

test("both languages say everything that the page says", () => expect(problemsOf(en, { zh }, sources)).toEqual([]));

test("a message that is missing, of another kind or not in the catalogue is a problem", () => {
  const one = { calls: { title: "Calls", took: (n: number) => `${n}`, kinds: { go: "Go" } } };
  const other = { calls: { took: "n", kinds: {}, more: "x" } };
  expect(problemsOf(one, { other }, ["m.calls.title m.calls.nothing m.other.thing"])).toEqual([
    "other.calls.title is missing", "other.calls.took is of another kind", "other.calls.kinds.go is missing", "other.calls.more is in no other language", "calls.nothing is used and not there",
  ]);
});

test("every message is used", () => {
  const used = named(sources);
  const all = Object.entries(en).flatMap(([section, messages]) => (typeof messages === "string" ? [] : Object.keys(messages).map((name) => `${section}.${name}`)));
  expect(all.filter((place) => !used.has(place) && !used.has(place.replace(/\..*/, ".")))).toEqual([]);
});
