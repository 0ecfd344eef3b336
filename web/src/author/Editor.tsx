// The text of a tool with what the checker says of it: squiggles, fixes, completion and meaning of fields from the format's own table.

import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { m } from "../messages";
import type { Schema } from "../schema/resolve";
import { fromBytes, type Problem } from "./problems";
import { fieldsOf, parentByIndent, pathAt, schemaAt, valuesOf } from "./schemaHelp";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--acc)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ink3)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--brass)" },
]);

const look = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontVariantLigatures: "none", lineHeight: "20px", minHeight: "320px", maxHeight: "62vh" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--ink3)", border: "0", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sunk) 45%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--acc)", outlineOffset: "-2px" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--acc-soft) !important" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", maxWidth: "460px" },
  ".cm-tooltip .help": { padding: "8px 12px", fontSize: "13px", lineHeight: "18px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--acc-soft)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--ink3)", fontStyle: "normal" },
  ".cm-diagnostic": { padding: "6px 10px" },
  ".cm-diagnosticAction": { backgroundColor: "var(--acc)", color: "var(--acc-ink)", borderRadius: "4px", padding: "1px 8px" },
});

function diagnostics(text: string, problems: Problem[]): Diagnostic[] {
  return problems.map((problem) => {
    const from = fromBytes(text, problem.span.start);
    const to = Math.max(fromBytes(text, problem.span.end), Math.min(from + 1, text.length));
    const fix = problem.fix;
    return {
      from, to, severity: problem.severity, source: problem.code, message: problem.help ? `${problem.message}\n${problem.help}` : problem.message,
      actions: fix ? [{ name: m.author.fix, apply: (view) => view.dispatch({ changes: { from: fromBytes(text, fix.span.start), to: fromBytes(text, fix.span.end), insert: fix.text } }) }] : undefined,
    };
  });
}

function describe(schema: Schema | undefined): string {
  return typeof schema === "object" && typeof schema["description"] === "string" ? schema["description"] : "";
}

function complete(schema: Schema, isYaml: boolean) {
  return (context: CompletionContext) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const value = /^\s*(?:- )*["']?([\w-]+)["']?\s*:\s*["']?([\w-]*)$/.exec(before);
    if (value) {
      const around = isYaml ? parentByIndent(context.state.doc.toString().split("\n"), line.number - 1, before.search(/[^\s-]/)) : pathAt(context.state, line.from).filter((name) => name !== value[1]);
      const options = valuesOf(schemaAt(schema, [...around, value[1]!])).map((label): Completion => ({ label, type: "enum" }));
      return options.length > 0 ? { from: context.pos - value[2]!.length, options } : null;
    }
    const key = /^(\s*)((?:- )*)(["']?)([\w-]*)$/.exec(before);
    if (!key || (!context.explicit && key[4] === "")) return null;
    const indent = key[1]!.length + key[2]!.length;
    const path = isYaml ? parentByIndent(context.state.doc.toString().split("\n"), line.number - 1, indent) : pathAt(context.state, context.pos - key[4]!.length - key[3]!.length);
    // A line that begins an item is a field of that item.
    const at = key[2] !== "" && path.at(-1) !== 0 ? [...path, 0] : path;
    const options = fieldsOf(schemaAt(schema, at)).map(([label, one]): Completion => ({
      label, type: "property", detail: valuesOf(one).slice(0, 3).join(" | ") || undefined, info: describe(one), apply: isYaml ? `${label}: ` : key[3] === "" ? `"${label}": ` : `${label}": `,
    }));
    return options.length > 0 ? { from: context.pos - key[4]!.length, options, validFor: /^[\w-]*$/ } : null;
  };
}

function meaning(schema: Schema) {
  return hoverTooltip((view, pos) => {
    const text = describe(schemaAt(schema, pathAt(view.state, pos)));
    if (text === "") return null;
    return { pos, above: true, create: () => {
      const dom = document.createElement("div");
      dom.className = "help";
      dom.textContent = text;
      return { dom };
    } };
  });
}

export default function Editor(props: { label: string; file: string; value: string; problems: Problem[]; checked: string; schema?: Schema; readOnly?: boolean; onChange(value: string): void }) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useRef(props.onChange);
  change.current = props.onChange;
  const isYaml = props.file.endsWith(".yaml");
  useEffect(() => {
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce), lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(), lintGutter(),
      isYaml ? yaml() : json(), syntaxHighlighting(colours), look, EditorView.lineWrapping,
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": props.label, spellcheck: "false" }),
      EditorState.readOnly.of(props.readOnly ?? false),
      EditorView.updateListener.of((update) => { if (update.docChanged) change.current(update.state.doc.toString()); }),
      ...(props.schema === undefined ? [] : [autocompletion({ override: [complete(props.schema, isYaml)] }), meaning(props.schema)]),
    ];
    const made = new EditorView({ parent: place.current!, state: EditorState.create({ doc: props.value, extensions }) });
    view.current = made;
    return () => made.destroy();
  }, [props.file, props.schema, props.readOnly]);
  // A change from elsewhere: the step builder, a recorded test.
  useEffect(() => {
    const now = view.current?.state.doc.toString();
    if (view.current && now !== props.value) view.current.dispatch({ changes: { from: 0, to: now!.length, insert: props.value } });
  }, [props.value]);
  useEffect(() => {
    // What was said of another text has other places.
    if (view.current && view.current.state.doc.toString() === props.checked) view.current.dispatch(setDiagnostics(view.current.state, diagnostics(props.checked, props.problems)));
  }, [props.problems, props.checked]);
  return <div className="editor" ref={place} />;
}
