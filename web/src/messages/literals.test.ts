// Every text that the page shows is in the catalogue: no English is left in the code.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const SRC = join(import.meta.dirname, "..");

/** Not the page's own words: names, keys, commands, what JSON calls itself, who decided, and words that open a tool's file. */
const NAMES = new Set(["Toolcrib", "Esc", "Ctrl ⏎", "Ctrl S", "Ctrl K", "URL", "JSON", ", JSON", "bash", "true", "false", "CLI", "web admin", "echo hello", "q body.title place=Bern", "curl 'https://api.example.com/v1/now?q=Bern'", "npx -y @modelcontextprotocol/server-files ."]);
/** Commands that a person or a program is given, and CSS in JavaScript. */
const COMMANDS = /^(toolcrib |curl |<svg|<circle|\(prefers-|\d+px solid|color-mix|input, )/;
const FILES = new Set(["author/templates.ts", "api/schema.ts"]);
/** Attributes whose values no one reads. */
const SILENT = new Set(["className", "href", "id", "type", "role", "d", "viewBox", "accept", "htmlFor", "inputMode", "stroke"]);
const SPOKEN = new Set(["aria-label", "title", "placeholder", "alt", "label", "aria-roledescription"]);

function sources(directory: string, under = ""): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? sources(join(directory, entry.name), `${under}${entry.name}/`) : /\.tsx?$/.test(entry.name) && !/\.test\.ts$/.test(entry.name) ? [under + entry.name] : []));
}

/** Texts in a file that look like words for a person. */
export function literals(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const found: string[] = [];
  const note = (node: ts.Node, words: string) => {
    const trimmed = words.replace(/\s+/g, " ").trim();
    if (!NAMES.has(trimmed) && !COMMANDS.test(trimmed)) found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${trimmed}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isJsxAttribute(node)) {
      const name = node.name.getText();
      if (SILENT.has(name)) return;
      if (SPOKEN.has(name) && node.initializer && ts.isStringLiteral(node.initializer) && /\p{L}{2}/u.test(node.initializer.text)) return note(node, node.initializer.text);
    }
    if (ts.isJsxText(node) && /\p{L}{2}/u.test(node.text)) note(node, node.text);
    // Two words beside each other are a sentence.
    else if ((ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)) && /[A-Za-z]{2,}[,:;]? [a-z]{2,}|^ [a-z]{2,} $/.test(node.text)) note(node, node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no text of the page is outside the catalogue", () => {
  const files = sources(SRC).filter((file) => !file.startsWith("messages/") && !FILES.has(file));
  expect(files.length).toBeGreaterThan(40);
  expect(files.flatMap((file) => literals(file, readFileSync(join(SRC, file), "utf8")))).toEqual([]);
});

test("English in elements, attributes and sentences is found", () => {
  expect(literals("x.tsx", "<p title=\"Close\">Hello</p>")).toEqual(["x.tsx:1: Close", "x.tsx:1: Hello"]);
  expect(literals("x.ts", "f(`${a} of ${b}`); say('it went wrong')")).toEqual(["x.ts:1: of", "x.ts:1: it went wrong"]);
});

test("numbers of messages are written by Intl, in both languages", () => {
  const bare = ["en", "zh"].flatMap((language) => {
    const text = readFileSync(join(SRC, `messages/${language}.ts`), "utf8");
    // The names that numbers have in the catalogue.
    return [...text.matchAll(/\$\{(n|on|off|all|errors|warnings|failed|sent|received|min|s)\}/g)].map((found) => text.slice(found.index - 40, found.index + 20));
  });
  // Two take texts: tokens that are written short already, and seconds with their decimals.
  expect(bare.filter((one) => !/tokens: |seconds: /.test(one))).toEqual([]);
});

test("nothing is rounded by hand", () => {
  const rounded = sources(SRC).filter((file) => /\.toFixed\(/.test(readFileSync(join(SRC, file), "utf8")));
  // Coordinates of a drawing are no texts.
  expect(rounded).toEqual(["components/Charts.tsx"]);
});
