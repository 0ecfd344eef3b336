import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { ApiError, api, type BundleRow, data, reason } from "../api/client";
import { headers } from "../api/client";
import { useBundles } from "../api/queries";
import { Failed, Loading, Pane, say, Switch } from "../components/basics";
import { Confirm, Dialog } from "../components/Dialog";
import { Diff } from "../components/Diff";
import { download } from "../components/download";
import { CompareArchive, NewBundle } from "../components/NewBundle";
import { Upstreams } from "../components/Upstreams";
import { m } from "../messages";

export default function Bundles() {
  const bundles = useBundles();
  const [imports, setImports] = useState(false);
  const [makes, setMakes] = useState(false);
  const [compares, setCompares] = useState<string | null>(null);
  return (
    <>
      <div className="bar"><h1>{m.bundles.title}</h1><span className="sub">{m.bundles.hint}</span><span className="sp" /><button type="button" className="btn" onClick={() => setMakes(true)}>{m.bundles.new}</button><button type="button" className="btn" onClick={() => setImports(true)}>{m.bundles.import}</button></div>
      {bundles.error ? <Failed error={bundles.error} retry={() => void bundles.refetch()} /> : bundles.isPending ? <Loading /> : (
        <div className="panel">{bundles.data.map((bundle) => <Pane key={bundle.bundleID} name={bundle.slug}><Line bundle={bundle} onCompare={() => setCompares(bundle.slug)} /></Pane>)}</div>
      )}
      <Pane name="upstreams"><Upstreams /></Pane>
      <Import open={imports} onClose={() => setImports(false)} />
      <NewBundle open={makes} onClose={() => setMakes(false)} />
      <CompareArchive slug={compares} onClose={() => setCompares(null)} />
    </>
  );
}

function Line({ bundle, onCompare }: { bundle: BundleRow; onCompare(): void }) {
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const old = () => Promise.all(["bundles", "tools", "tool"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
  const path = { bundleID: bundle.slug };
  const change = useMutation({ mutationFn: (isEnabled: boolean) => data(api.PATCH("/tools/bundles/{bundleID}", { params: { path }, body: { isEnabled } })), onSettled: old, onError: (error) => say(reason(error)) });
  const bin = useMutation({ mutationFn: () => data(api.DELETE("/tools/bundles/{bundleID}", { params: { path } })), onSuccess: () => say(m.bundles.deleted(bundle.slug)), onSettled: old, onError: (error) => say(reason(error)) });
  const restore = useMutation({ mutationFn: () => data(api.POST("/api/bundles/{bundleID}/restore", { params: { path } })), onSettled: old, onError: (error) => say(reason(error)) });
  const isGone = Boolean(bundle.softDeletedAt);
  return (
    <div className="line">
      <div className="grow"><Link className="slug" href={`/tools?bundle=${encodeURIComponent(bundle.slug)}`}>{bundle.slug}</Link> <b>{bundle.displayName}</b><div className="sub">{m.bundles.kinds[bundle.kind]} · {m.bundles.tools(bundle.tools)}{isGone ? ` · ${m.bundles.inBin}` : ""}{bundle.description ? ` · ${bundle.description}` : ""}</div>{bundle.problem ? <div className="msg">{bundle.problem}</div> : null}</div>
      {bundle.kind === "store" && !isGone ? <><button type="button" className="btn sm" onClick={() => void exportBundle(bundle.slug)}>{m.bundles.export}</button><button type="button" className="btn sm" onClick={onCompare}>{m.bundles.compare}</button><button type="button" className="btn sm bad" onClick={() => setAsks(true)}>{m.bundles.bin}</button></> : null}
      {isGone ? <button type="button" className="btn sm" onClick={() => restore.mutate()}>{m.bundles.restore}</button> : <Switch label={m.tools.switchBundle(bundle.displayName)} checked={change.isPending ? change.variables : bundle.isEnabled} disabled={change.isPending} onChange={(next) => change.mutate(next)} />}
      <Confirm open={asks} danger title={m.bundles.binAsk(bundle.slug)} text={m.bundles.binText} yes={m.bundles.bin} onClose={() => setAsks(false)} onYes={() => bin.mutate()} />
    </div>
  );
}

async function exportBundle(slug: string) {
  const response = await fetch(`/api/bundles/${encodeURIComponent(slug)}/export`, { headers: headers() });
  if (!response.ok) return say(reason(new ApiError(response.status, await response.json().catch(() => null))));
  download(`${slug}.zip`, await response.blob());
}

interface Shown {
  bundle: { slug?: string };
  tools: { slug: string; version: string; change: string; description: string; runs: { what: string; text: string }[]; hosts: string[]; diff?: string | null }[];
  reach?: { hosts: string[]; secrets: { secret: string }[] } | null;
  notes: string[];
}

function Import({ open, onClose }: { open: boolean; onClose(): void }) {
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File | null>(null);
  const send = async (archive: File, dryRun: boolean): Promise<Shown> => {
    const response = await fetch(`/api/bundles/import${dryRun ? "?dryRun=true" : ""}`, { method: "POST", headers: { ...headers(), "content-type": "application/zip" }, body: archive });
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok) throw new ApiError(response.status, body);
    return body as Shown;
  };
  const look = useMutation({ mutationFn: (archive: File) => send(archive, true) });
  const take = useMutation({
    mutationFn: (archive: File) => send(archive, false),
    onSuccess: (done) => {
      say(m.bundles.imported(done.bundle.slug ?? ""));
      for (const name of ["bundles", "tools"]) void queries.invalidateQueries({ queryKey: [name] });
      close();
    },
  });
  const close = () => {
    setFile(null);
    look.reset();
    take.reset();
    onClose();
  };
  const shown = look.data;
  return (
    <Dialog open={open} onClose={close} title={m.bundles.importTitle}>
      <div className="body stack">
        <p className="sub">{m.bundles.importText}</p>
        <input ref={input} type="file" accept=".zip,application/zip" aria-label={m.bundles.importPick} onChange={(event) => { const next = event.target.files?.[0] ?? null; setFile(next); if (next) look.mutate(next); }} />
        {look.error ? <Failed error={look.error} /> : null}
        {shown ? (
          <>
            <b className="slug">{shown.bundle.slug}</b>
            {shown.tools.map((tool) => <div key={tool.slug + tool.version}><b className="slug">{tool.slug}</b> <span className="sub">{tool.version} · {tool.change} · {tool.description}</span>{tool.runs.map((run) => <pre key={run.text} className="out">{run.what}: {run.text}</pre>)}{tool.hosts.length > 0 ? <div className="sub">{m.bundles.reaches}: <code>{tool.hosts.join(", ")}</code></div> : null}{tool.diff ? <Diff text={tool.diff} /> : null}</div>)}
            {shown.reach && shown.reach.secrets.length > 0 ? <p className="sub">{m.secrets.title}: <code>{shown.reach.secrets.map((one) => one.secret).join(", ")}</code></p> : null}
            {shown.notes.map((note) => <div key={note} className="note">{note}</div>)}
          </>
        ) : null}
        {take.error ? <Failed error={take.error} /> : null}
        <div className="row"><button type="button" className="btn pri" disabled={!file || !shown || take.isPending} onClick={() => file && take.mutate(file)}>{m.bundles.importNow}</button><button type="button" className="btn" onClick={close}>{m.common.cancel}</button></div>
      </div>
    </Dialog>
  );
}
