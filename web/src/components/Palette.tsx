// Call a tool from anywhere: search, arguments, run, result, without leaving the page.

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type Args, api, data, type Json, placeOf, toolPath } from "../api/client";
import { useSearch } from "../api/queries";
import { format, m } from "../messages";
import { kindOf, resolve, type Schema } from "../schema/resolve";
import { EffectTag } from "./basics";
import { Dialog } from "./Dialog";
import { RunShown } from "./Tester";
import { change, start, useTester } from "./tester";

type Hit = NonNullable<ReturnType<typeof useSearch>["data"]>[number];

export function Palette({ open, onClose }: { open: boolean; onClose(): void }) {
  return <Dialog open={open} onClose={onClose} title={m.palette.title} hideTitle className="palette">{open ? <Content onClose={onClose} /> : null}</Dialog>;
}

function Content({ onClose }: { onClose(): void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const asked = useDeferredValue(words.trim());
  const recent = useQuery({ queryKey: ["tools", "recent"], queryFn: ({ signal }) => data(api.GET("/tools/search", { params: { query: { q: "", pageSize: 8 } }, signal })).then((page) => page.results) });
  const found = useSearch(asked);
  const hits: Hit[] = ((asked === "" ? recent.data : found.data) ?? []).filter((hit) => hit.availability.state === "ready").slice(0, 8);
  const chosen = hits[Math.min(at, hits.length - 1)];
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  const args = useRef<HTMLDivElement>(null);
  const openTester = () => {
    if (!chosen) return;
    navigate(toolPath(chosen));
    onClose();
  };
  return (
    <>
      <div className="ask">
        <span aria-hidden="true">+</span>
        <input autoFocus role="combobox" aria-expanded="true" aria-controls="palette-hits" aria-activedescendant={chosen ? `hit-${hits.indexOf(chosen)}` : undefined} aria-label={m.palette.title} placeholder={m.palette.placeholder} value={words}
          onChange={(event) => { setWords(event.target.value); setAt(0); }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) openTester();
            else if (event.key === "Enter") (args.current?.querySelector<HTMLElement>("input, select, button"))?.focus();
            else return;
            event.preventDefault();
          }} />
        <span className="sub num" role="status">{m.palette.hits(hits.length)}</span><kbd>Esc</kbd>
      </div>
      <div className="hits" id="palette-hits" role="listbox" aria-label={m.tools.title} ref={list}>
        {hits.map((hit, index) => (
          <div key={`${hit.bundle}/${hit.slug}@${hit.version}`} id={`hit-${index}`} role="option" aria-selected={hit === chosen} onMouseMove={() => setAt(index)} onClick={() => args.current?.querySelector<HTMLElement>("input, select, button")?.focus()}>
            <span className="slug">{hit.slug}</span><span className="desc">{hit.description}</span><span className="sub">{hit.bundle}</span><EffectTag effects={hit.effects} />
          </div>
        ))}
        {hits.length === 0 && !found.isFetching && !recent.isPending ? <div className="empty">{m.palette.none}</div> : null}
      </div>
      {chosen ? <div ref={args}><Inline key={`${chosen.bundle}/${chosen.slug}@${chosen.version}`} hit={chosen} onOpen={openTester} /></div> : null}
      <div className="keys"><span><kbd>↑</kbd> <kbd>↓</kbd> {m.palette.choose}</span><span><kbd>⏎</kbd> {m.palette.arguments}, {m.palette.run}</span><span><kbd>Ctrl ⏎</kbd> {m.palette.open}</span></div>
    </>
  );
}

/** The arguments that fit into a line; a tool with others is run in its tester. */
function Inline({ hit, onOpen }: { hit: Hit; onOpen(): void }) {
  const tester = useTester(hit);
  const [ran, setRan] = useState(false);
  const tool = useQuery({ queryKey: ["tool", hit.bundle, hit.slug, hit.version], queryFn: ({ signal }) => data(api.GET("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(hit) }, signal })) });
  if (!tool.data) return <div className="args">{m.common.loading}</div>;
  const root = tool.data.inputSchema as Schema;
  const kind = kindOf(root, resolve(root, root));
  const properties = kind.kind === "object" ? kind.properties.map(([name, schema]) => [name, kindOf(root, resolve(root, schema)), kind.required.includes(name)] as const) : [];
  const simple = properties.filter(([, one]) => ["text", "number", "boolean", "enum"].includes(one.kind)).sort((a, b) => Number(b[2]) - Number(a[2])).slice(0, 3);
  const missing = properties.filter(([name, , required]) => required && tester.args[name] === undefined).map(([name]) => name);
  const set = (name: string, value: Json | undefined) => {
    const { [name]: _, ...rest } = tester.args;
    change(hit, { args: (value === undefined ? rest : { ...rest, [name]: value }) as Args });
  };
  const run = () => {
    if (missing.length > 0) return;
    setRan(true);
    void start(hit);
  };
  return (
    <>
      <div className="args" onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) onOpen();
        else run();
      }}>
        <b className="slug">{hit.slug}</b>
        {simple.map(([name, one, required]) => (
          <label key={name}>{name}{required ? "" : <span className="dim"> ?</span>}
            {one.kind === "boolean" || one.kind === "enum"
              ? <select className="in" value={JSON.stringify(tester.args[name]) ?? ""} onChange={(event) => set(name, event.target.value === "" ? undefined : JSON.parse(event.target.value) as Json)}><option value="">{m.form.unset}</option>{(one.kind === "boolean" ? [true, false] : one.values).map((value) => <option key={JSON.stringify(value)} value={JSON.stringify(value)}>{String(value)}</option>)}</select>
              : <input className="in" value={tester.args[name] === undefined ? "" : String(tester.args[name])} onChange={(event) => set(name, event.target.value === "" ? undefined : one.kind === "number" && event.target.value.trim() !== "" && Number.isFinite(Number(event.target.value)) ? Number(event.target.value) : event.target.value)} />}
          </label>
        ))}
        <span className="sp" />
        <button type="button" className="btn pri sm" aria-disabled={missing.length > 0} title={missing.length > 0 ? `${m.palette.required} ${missing.join(", ")}` : undefined} onClick={run}>{m.palette.run}</button>
        <button type="button" className="btn sm" onClick={onOpen}>{m.palette.open}</button>
      </div>
      {ran && tester.run ? <div className="result" role="status" aria-label={`${m.palette.result} ${format.took((tester.run.endedAt ?? Date.now()) - tester.run.startedAt)}`}><RunShown run={tester.run} /></div> : null}
    </>
  );
}
