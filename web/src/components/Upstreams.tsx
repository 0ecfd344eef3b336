// Other MCP servers whose tools are on offer here: state, what was accepted and what changed since, and what each call needs.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api, data, reason } from "../api/client";
import { everyPage } from "../api/queries";
import { m } from "../messages";
import { Failed, Loading, Pane, say, Words } from "./basics";
import { Confirm, Dialog } from "./Dialog";
import { Diff } from "./Diff";
import { Icon } from "./icons";

interface Accepted { name: string; description?: string; digest: string; approval: "allow" | "ask" | "deny"; warnings?: string[] }
interface Change { tool: string; change: string; diff: string }
interface Probe { name: string; server?: { name?: string; version?: string }; protocol?: string; tools: { name: string; description?: string; digest: string; warnings?: string[] }[]; rejected: { name: string; reason: string }[]; changes: Change[]; stderr?: string }

const digestsOf = (probe: Probe) => Object.fromEntries(probe.tools.map((tool) => [tool.name, tool.digest]));

export function Upstreams() {
  const list = useQuery({ queryKey: ["bundles", "upstreams"], queryFn: () => everyPage((page) => data(api.GET("/api/upstreams", { params: { query: page } })), (page) => page.upstreams) });
  const [open, setOpen] = useState<string | null>(null);
  const [adds, setAdds] = useState(false);
  return (
    <section className="above">
      <div className="bar"><h2>{m.bundles.upstreams}</h2><span className="sp" /><button type="button" className="btn" onClick={() => setAdds(true)}>{m.bundles.upstreamAdd}</button></div>
      {list.error ? <Failed error={list.error} /> : list.isPending ? <Loading /> : list.data.length === 0 ? <p className="sub">{m.bundles.upstreamNone}</p> : (
        <div className="panel">{list.data.map((one) => (
          <div key={one.name} className="group">
            <div className="line top">
              <div className="grow"><b className="slug">{one.name}</b> <span className="sub">{one.transport} · {one.reachedBy} · {one.state} · {m.bundles.tools(one.tools)}</span>{one.notes.map((note) => <div key={note} className="sub"><Words text={note} /></div>)}
                {one.changes.length > 0 ? <div className="st wait"><Icon name="warn" size={14} />{m.bundles.changed(one.changes.length)}</div> : null}</div>
              <button type="button" className="btn sm" aria-expanded={open === one.name} onClick={() => setOpen(open === one.name ? null : one.name)}>{m.bundles.details}</button>
            </div>
            {open === one.name ? <Pane name={one.name}><Upstream name={one.name} changes={one.changes as Change[]} /></Pane> : null}
          </div>
        ))}</div>
      )}
      <AddUpstream open={adds} onClose={() => setAdds(false)} />
    </section>
  );
}

function Upstream({ name, changes }: { name: string; changes: Change[] }) {
  const queries = useQueryClient();
  const [removes, setRemoves] = useState(false);
  const path = { name };
  const old = () => void queries.invalidateQueries();
  const test = useMutation({ mutationFn: () => data(api.POST("/api/upstreams/{name}/test", { params: { path } })) as Promise<unknown> as Promise<Probe>, onSettled: old });
  const accept = useMutation({ mutationFn: (tools?: string[]) => data(api.POST("/api/upstreams/{name}/accept", { params: { path }, body: { tools, digests: test.data ? digestsOf(test.data) : undefined } as never })), onError: (error) => say(reason(error)), onSuccess: () => { test.reset(); say(m.bundles.accepted(name)); }, onSettled: old });
  const allow = useMutation({ mutationFn: (wish: { tool: string; approval: Accepted["approval"] }) => data(api.PATCH("/api/upstreams/{name}", { params: { path }, body: { tools: [wish.tool], approval: wish.approval } })), onSuccess: () => say(m.settings.restart), onError: (error) => say(reason(error)), onSettled: old });
  const remove = useMutation({ mutationFn: () => data(api.DELETE("/api/upstreams/{name}", { params: { path } })), onError: (error) => say(reason(error)), onSuccess: () => queries.invalidateQueries({ predicate: (query) => !(query.queryKey[0] === "bundles" && query.queryKey[1] === "upstream") }) });
  // Once it is removed there is nothing to ask about.
  const shown = useQuery({ queryKey: ["bundles", "upstream", name], enabled: remove.isIdle || remove.isError, queryFn: () => data(api.GET("/api/upstreams/{name}", { params: { path } })) as Promise<unknown> as Promise<{ accepted: Accepted[] }> });
  const differs = test.data?.changes ?? changes;
  return (
    <div className="pad stack sunk">
      <div className="row wrap">
        <button type="button" className="btn sm" disabled={test.isPending} onClick={() => test.mutate()}>{test.isPending ? m.bundles.testing : m.bundles.test}</button>
        <button type="button" className="btn sm bad" onClick={() => setRemoves(true)}>{m.common.remove}</button>
        {test.data ? <span className="sub">{test.data.server?.name} {test.data.server?.version} · {test.data.protocol} · {m.bundles.tools(test.data.tools.length)}</span> : null}
      </div>
      {test.error ? <Failed error={test.error} /> : null}
      {differs.map((change) => (
        <div key={change.tool} className="stack gap"><div className="row"><code>{change.tool}</code><span className="sub">{change.change}</span><span className="sp" /><button type="button" className="btn sm" disabled={accept.isPending} onClick={() => accept.mutate([change.tool])}>{m.bundles.acceptOne}</button></div><Diff text={change.diff} /></div>
      ))}
      {differs.length > 0 ? <div><button type="button" className="btn pri" disabled={accept.isPending} onClick={() => accept.mutate(undefined)}>{m.bundles.accept}</button></div> : null}
      {test.data?.rejected.map((one) => <p key={one.name} className="msg"><code>{one.name}</code> {one.reason}</p>)}
      {shown.error ? <Failed error={shown.error} /> : shown.isPending ? <Loading /> : (
        <div className="scroll"><table><thead><tr><th>{m.tools.tool}</th><th>{m.bundles.needs}</th></tr></thead><tbody>{shown.data.accepted.map((tool) => (
          <tr key={tool.name}><td><Link className="slug" href={`/tools?bundle=${encodeURIComponent(name)}`}>{tool.name}</Link><div className="sub">{tool.description}</div>{tool.warnings?.map((warning) => <div key={warning} className="msg">{warning}</div>)}</td>
            <td><select className="chip" aria-label={`${m.bundles.needs}: ${tool.name}`} value={tool.approval} disabled={allow.isPending} onChange={(event) => allow.mutate({ tool: tool.name, approval: event.target.value as Accepted["approval"] })}>{(["allow", "ask", "deny"] as const).map((one) => <option key={one} value={one}>{m.bundles.approvals[one]}</option>)}</select></td></tr>
        ))}</tbody></table></div>
      )}
      <Confirm open={removes} danger title={m.bundles.upstreamRemove(name)} text={m.bundles.upstreamRemoveText} yes={m.common.remove} onClose={() => setRemoves(false)} onYes={() => remove.mutate()} />
    </div>
  );
}

/** Words as a shell reads them: spaces separate, quotes keep together. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3]!);
}

function AddUpstream({ open, onClose }: { open: boolean; onClose(): void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [line, setLine] = useState("");
  const settings = (): Record<string, unknown> => {
    if (/^https?:\/\//.test(line.trim())) return { url: line.trim() };
    const [command, ...args] = wordsOf(line);
    return { command: command ?? "", args };
  };
  const look = useMutation({ mutationFn: () => data(api.POST("/api/upstreams", { params: { query: { dryRun: true } }, body: { name, settings: settings() } as never })) as Promise<unknown> as Promise<Probe> });
  const add = useMutation({
    mutationFn: () => data(api.POST("/api/upstreams", { body: { name, settings: settings(), digests: digestsOf(look.data!) } as never })),
    onSuccess: () => { void queries.invalidateQueries(); say(m.bundles.upstreamAdded(name)); close(); },
  });
  const close = () => { setName(""); setLine(""); look.reset(); add.reset(); onClose(); };
  return (
    <Dialog open={open} onClose={close} title={m.bundles.upstreamAdd}>
      <form className="body stack" onSubmit={(event) => { event.preventDefault(); look.mutate(); }}>
        <div className="field"><label htmlFor="up-name">{m.author.name}</label><input id="up-name" className="in" value={name} onChange={(event) => { setName(event.target.value); look.reset(); }} /></div>
        <div className="field"><label htmlFor="up-line">{m.bundles.upstreamLine}</label><div className="hint" id="up-hint">{m.bundles.upstreamHint}</div><input id="up-line" aria-describedby="up-hint" className="in" spellCheck={false} placeholder="npx -y @modelcontextprotocol/server-files ." value={line} onChange={(event) => { setLine(event.target.value); look.reset(); }} /></div>
        {look.error ? <Failed error={look.error} /> : null}
        {look.data ? (
          <div className="stack gap"><b>{m.bundles.tools(look.data.tools.length)}</b>{look.data.tools.map((tool) => <div key={tool.name}><b className="slug">{tool.name}</b> <span className="sub">{tool.description}</span>{tool.warnings?.map((warning) => <div key={warning} className="msg">{warning}</div>)}</div>)}{look.data.rejected.map((one) => <p key={one.name} className="msg"><code>{one.name}</code> {one.reason}</p>)}</div>
        ) : null}
        {add.error ? <Failed error={add.error} /> : null}
        <div className="row">{look.data ? <button type="button" className="btn pri" disabled={add.isPending} onClick={() => add.mutate()}>{m.bundles.upstreamTake}</button> : <button type="submit" className="btn pri" disabled={name === "" || line.trim() === "" || look.isPending}>{look.isPending ? m.bundles.testing : m.bundles.upstreamLook}</button>}<button type="button" className="btn" onClick={close}>{m.common.cancel}</button></div>
      </form>
    </Dialog>
  );
}
