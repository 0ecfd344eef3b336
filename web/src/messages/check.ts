// What is wrong with the catalogues of messages. `vite.config.ts` asks before it builds, so that no page is made that lacks a text: checking all
// types would say the same, but takes ten times as long as the build.

export type Catalogue = { [name: string]: unknown };

const isGroup = (value: unknown): value is Catalogue => typeof value === "object" && value !== null && !Array.isArray(value);

/** Where `other` does not say what `one` says. */
function differences(one: unknown, other: unknown, place: string): string[] {
  if (other === undefined) return [`${place} is missing`];
  if (isGroup(one) && isGroup(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return names.flatMap((name) => (name in one ? differences(one[name], other[name], `${place}.${name}`) : [`${place}.${name} is in no other language`]));
  }
  if (typeof one !== typeof other || Array.isArray(one) !== Array.isArray(other)) return [`${place} is of another kind`];
  if (typeof one === "function" && typeof other === "function" && other.length > one.length) return [`${place} takes more values`];
  if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length) return [`${place} has another length`];
  return [];
}

/** The messages that sources name, as `section.name`; `section.` if one is chosen by a value. */
export function named(sources: Iterable<string>): Set<string> {
  return new Set([...sources].flatMap((text) => [...text.matchAll(/\bm\.(\w+)(?:\.(\w+)|\[)/g)].map((found) => `${found[1]}.${found[2] ?? ""}`)));
}

/** What a language lacks of the first one, and what sources name that is not there. */
export function problemsOf(first: Catalogue, others: { [language: string]: Catalogue }, sources: Iterable<string>): string[] {
  const missing = [...named(sources)].filter((place) => {
    const [section, name] = place.split(".") as [string, string];
    return name !== "" && isGroup(first[section]) && !(name in first[section]);
  });
  return [...Object.entries(others).flatMap(([language, other]) => differences(first, other, language)), ...missing.map((place) => `${place} is used and not there`)];
}
