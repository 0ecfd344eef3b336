// Call a tool from anywhere: search, arguments, run, result, without leaving the page.

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type Args, api, data, type Json, placeOf, toolPath } from "../api/client";
import { useSearch } from "../api/queries";
import { m } from "../messages";
import { InlineValue, pointerOf } from "../schema/Form";
import { kindOf, resolve, rootKind, type Schema } from "../schema/resolve";
import { EffectTag, Failed, Pane } from "./basics";
import { Dialog } from "./Dialog";
import { Icon } from "./icons";
import { RunShown, RunState } from "./Tester";
import { block, change, start, stop, useTester, whyNot } from "./tester";

type Hit = NonNullable<ReturnType<typeof useSearch>["data"]>[number];

export function Palette({ open, onClose }: { open: boolean; onClose(): void }) {
  return <Dialog open={open} onClose={onClose} title={m.palette.title} hideTitle className="palette">{open ? <Pane name="palette"><Content onClose={onClose} /></Pane> : null}</Dialog>;
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
            else if (event.key === "Enter") args.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
            else return;
            event.preventDefault();
          }} />
        <span className="sub num" role="status">{m.palette.hits(hits.length)}</span><button type="button" className="btn ghost icon" aria-label={m.common.close} title="Esc" onClick={onClose}><Icon name="cross" /></button>
      </div>
      <div className="hits" id="palette-hits" role="listbox" aria-label={m.tools.title} ref={list}>
        {hits.map((hit, index) => (
          <div key={`${hit.bundle}/${hit.slug}@${hit.version}`} id={`hit-${index}`} role="option" aria-selected={hit === chosen} onMouseMove={() => setAt(index)} onClick={() => { setAt(index); args.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus(); }}>
            <span className="slug">{hit.slug}</span><span className="desc">{hit.description}</span><span className="sub">{hit.bundle}</span><EffectTag effects={hit.effects} />
          </div>
        ))}
        {hits.length === 0 && !found.isFetching && !recent.isPending ? <div className="empty">{m.palette.none}</div> : null}
      </div>
      {chosen ? <div ref={args} className="inline"><Pane key={`${chosen.bundle}/${chosen.slug}@${chosen.version}`} name="inline"><Inline hit={chosen} onOpen={openTester} /></Pane></div> : null}
      <div className="keys"><span><kbd>↑</kbd> <kbd>↓</kbd> {m.palette.choose}</span><span><kbd>⏎</kbd> {m.palette.arguments}, {m.palette.run}</span><span><kbd>Ctrl ⏎</kbd> {m.palette.open}</span></div>
    </>
  );
}

/** The arguments that fit into a line; a tool with others is run in its tester. */
function Inline({ hit, onOpen }: { hit: Hit; onOpen(): void }) {
  const tester = useTester(hit);
  const [ran, setRan] = useState(false);
  const tool = useQuery({ queryKey: ["tool", hit.bundle, hit.slug, hit.version], queryFn: ({ signal }) => data(api.GET("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(hit) }, signal })) });
  if (tool.error) return <Failed error={tool.error} />;
  if (!tool.data) return <div className="args">{m.common.loading}</div>;
  const root = tool.data.inputSchema as Schema;
  const kind = rootKind(root);
  const properties = kind.kind === "object" ? kind.properties.map(([name, schema]) => ({ name, schema, kind: kindOf(root, resolve(root, schema)).kind, required: kind.required.includes(name) })) : [];
  const simple = properties.filter((one) => ["text", "number", "boolean", "enum"].includes(one.kind)).sort((a, b) => Number(b.required) - Number(a.required)).slice(0, 3);
  const missing = properties.filter((one) => one.required && tester.args[one.name] === undefined).map((one) => one.name);
  // Arguments that were filled in elsewhere and have no field here go along: they are named.
  const also = Object.keys(tester.args).filter((name) => !simple.some((one) => one.name === name));
  const why = whyNot(tester) ?? (missing.length > 0 ? `${m.palette.required} ${missing.join(", ")}` : null);
  const isRunning = tester.run !== null && ["running", "waiting", "stopping"].includes(tester.run.state);
  const set = (name: string, value: Json | undefined) => {
    const { [name]: _, ...rest } = tester.args;
    // An optional text that is empty is not sent here; the tester can send one.
    const isUnset = value === undefined || (value === "" && !properties.some((one) => one.name === name && one.required));
    change(hit, { args: (isUnset ? rest : { ...rest, [name]: value }) as Args });
  };
  const run = () => {
    if (why !== null || isRunning) return;
    setRan(true);
    void start(hit);
  };
  return (
    <>
      <div className="args" onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || !(event.target instanceof HTMLElement) || event.target.tagName === "BUTTON") return;
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) onOpen();
        else run();
      }}>
        <b className="slug">{hit.slug}</b>
        {simple.map((one) => (
          <div key={one.name} className="arg"><span aria-hidden="true">{one.name}{one.required ? "" : <span className="dim"> ?</span>}</span>
            <InlineValue root={root} schema={one.schema} name={one.name} pointer={pointerOf(one.name)} value={tester.args[one.name]} onChange={(value) => set(one.name, value)} onBlock={(pointer, problem) => block(hit, pointer, problem)} /></div>
        ))}
        <span className="sp" />
        <button type="button" className="btn pri sm" aria-disabled={why !== null || isRunning} title={why ?? undefined} onClick={run}>{m.palette.run}</button>
        <button type="button" className="btn sm" onClick={onOpen}>{m.palette.open}</button>
      </div>
      <p className="hint counts">{tester.asksFirst ? m.tool.ask : m.tool.counts}{also.length > 0 ? ` ${m.palette.also(also.join(", "))}` : ""}{why === null ? null : <> <b>{why}</b></>}</p>
      {ran && tester.run ? (
        <section className="result" aria-label={m.palette.result}>
          <div className="row ranbar"><span role="status"><RunState run={tester.run} /></span><span className="sp" />{isRunning ? <button type="button" className="btn bad sm" disabled={tester.run.state === "stopping"} onClick={() => stop(hit)}>{tester.run.state === "stopping" ? m.tool.stopping : m.tool.stop}</button> : null}</div>
          <RunShown run={tester.run} />
        </section>
      ) : null}
    </>
  );
}
