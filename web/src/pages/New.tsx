// A new tool: what it is made of, its name, and from there to its text.

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { api, data, type Schemas } from "../api/client";
import { useServer, useTools } from "../api/queries";
import { alias, command, http, steps } from "../author/templates";
import { draftKey, draftOf, setDraft } from "../author/drafts";
import { fileOf, placeOfFile, type Scope } from "../author/save";
import { Failed, Segments } from "../components/basics";
import { m } from "../messages";
import "../styles/author.css";
import { set } from "../yaml/document";

type Kind = "command" | "steps" | "http" | "curl" | "copy";

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export default function New() {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const from = params.get("from") ?? "";
  const workspace = useServer().data?.workspace;
  const tools = useTools().data?.tools ?? [];
  const base = tools.find((tool) => `${tool.bundle}/${tool.slug}@${tool.version}` === from);
  const [kind, setKind] = useState<Kind>(from ? "copy" : ((params.get("kind") as Kind | null) ?? "command"));
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [scope, setScope] = useState<Scope>("local");
  const [curl, setCurl] = useState("");
  const [callers, setCallers] = useState("");
  const where: Scope = workspace === null ? "user" : scope;
  const taken = tools.some((tool) => tool.name === name);
  const why = name === "" ? m.author.needsName : !NAME.test(name) ? m.author.badName : taken ? m.author.takenName : kind === "curl" && curl.trim() === "" ? m.author.needsCommand : kind === "copy" && !base ? m.author.needsBase : null;
  const begin = (content: string, end: "yaml" | "json") => {
    const file = `${name}.${end}`;
    const key = draftKey(where, file);
    if (!draftOf(key)) setDraft(key, { content, saved: null });
    navigate(`/author/${where}/${file}`);
  };
  const read = useMutation({
    mutationFn: () => data(api.POST("/api/curl", { body: { command: curl, name, description: description || undefined, params: callers.split(/[\s,]+/).filter(Boolean) } })),
  });
  const copy = useMutation({
    mutationFn: async () => {
      const place = base ? placeOfFile(base, base.file) : null;
      if (base && place) {
        const { content } = await fileOf(place.scope, place.file);
        if (place.file.endsWith(".yaml")) return { content: set(content, ["name"], name), end: "yaml" as const };
        return { content: content.replace(/("slug"\s*:\s*)"[^"]*"/, `$1"${name.replaceAll("_", "-")}"`), end: "json" as const };
      }
      const tool = await data(api.GET("/api/lookup", { params: { query: { tool: from } } }));
      const properties = (tool.inputSchema as { properties?: object } | undefined)?.properties ?? {};
      return { content: alias(name, base!.name, description || base!.description, Object.keys(properties)), end: "yaml" as const };
    },
    onSuccess: ({ content, end }) => begin(content, end),
  });
  const go = () => {
    if (why) return;
    if (kind === "command") begin(command(name, description), "yaml");
    else if (kind === "steps") begin(steps(name, description), "yaml");
    else if (kind === "http") begin(http(name, description), "json");
    else if (kind === "curl") read.mutate();
    else copy.mutate();
  };
  const kinds: [Kind, string, string][] = [["command", m.author.fromCommand, m.author.fromCommandText], ["steps", m.author.fromSteps, m.author.fromStepsText], ["http", m.author.fromHttp, m.author.fromHttpText], ["curl", m.author.fromCurl, m.author.fromCurlText], ["copy", m.author.fromCopy, m.author.fromCopyText]];
  return (
    <>
      <p className="crumbs sub"><Link href="/tools">{m.tools.title}</Link></p>
      <div className="bar"><h1>{m.author.new}</h1></div>
      <div className="kindcards" role="radiogroup" aria-label={m.author.kind}>
        {kinds.map(([value, title, text]) => (
          <button key={value} type="button" role="radio" aria-checked={kind === value} className="card" aria-current={kind === value} onClick={() => setKind(value)}><b>{title}</b><span className="sub block">{text}</span></button>
        ))}
      </div>
      <form className="form stack narrowform above" onSubmit={(event) => { event.preventDefault(); go(); }}>
        {kind === "copy" ? (
          <label className="field"><span className="name">{m.author.base}</span>
            <select className="in" value={from} onChange={(event) => navigate(`/author?from=${encodeURIComponent(event.target.value)}`, { replace: true })}><option value="">{m.form.choose}</option>{tools.filter((tool) => tool.source !== "store").map((tool) => { const reference = `${tool.bundle}/${tool.slug}@${tool.version}`; return <option key={reference} value={reference}>{reference}</option>; })}</select></label>
        ) : null}
        {kind === "curl" ? (
          <>
            <label className="field"><span className="name">{m.author.curlCommand}</span><span className="hint block">{m.author.curlHint}</span><textarea className="in" rows={4} spellCheck={false} placeholder="curl 'https://api.example.com/v1/now?q=Bern'" value={curl} onChange={(event) => setCurl(event.target.value)} /></label>
            <label className="field"><span className="name">{m.author.callers}</span><span className="hint block">{m.author.callersHint}</span><input className="in" placeholder="q body.title place=Bern" value={callers} onChange={(event) => setCallers(event.target.value)} /></label>
          </>
        ) : null}
        <label className="field"><span className="name">{m.author.name}</span><span className="hint block">{m.author.nameHint}</span><input className="in" spellCheck={false} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} /></label>
        <label className="field"><span className="name">{m.author.description}</span><span className="hint block">{m.author.descriptionHint}</span><input className="in" value={description} onChange={(event) => setDescription(event.target.value)} /></label>
        <div className="row wrap"><span className="name">{m.author.where}</span><Segments<Scope> label={m.author.where} value={where} choices={(workspace === null ? ["user" as const] : ["local" as const, "user" as const]).map((one): [Scope, string] => [one, m.author.scopes[one]!])} onChange={setScope} /></div>
        <div className="row wrap"><button type="submit" className="btn pri" aria-disabled={why !== null || read.isPending || copy.isPending} title={why ?? undefined}>{kind === "curl" ? m.author.readCommand : m.author.begin}</button>{why && name !== "" ? <span className="msg" role="alert">{why}</span> : null}</div>
        {read.error ? <Failed error={read.error} /> : null}
        {copy.error ? <Failed error={copy.error} /> : null}
        {read.data ? <Made made={read.data} onUse={() => begin(read.data.content, "json")} /> : null}
      </form>
    </>
  );
}

/** What a command became, before it is anything. */
function Made({ made, onUse }: { made: Schemas["CurlTool"]; onUse(): void }) {
  const rows: [string, { name: string; about: string }[]][] = [[m.author.arguments, made.arguments], [m.secrets.title, made.secrets], [m.author.leftOut, made.leftOut]];
  return (
    <section className="panel pad stack" aria-label={m.author.became}>
      <h2>{m.author.became}</h2>
      <code>{made.method} {made.url}</code>
      {rows.filter(([, list]) => list.length > 0).map(([title, list]) => <div key={title}><b>{title}</b>{list.map((one) => <div key={one.name} className="sub"><code>{one.name}</code> {one.about}</div>)}</div>)}
      {made.notes.map((note) => <div key={note} className="sub">{note}</div>)}
      {made.hostAllowed ? null : <div className="note"><span>{m.author.hostMissing} <code>{`toolcrib config set --add allowedHosts ${made.host}`}</code></span></div>}
      {made.secrets.map((one) => <div key={one.name} className="sub">{m.author.setSecret} <code>{`toolcrib secret set ${one.name} --host ${made.host}`}</code></div>)}
      <div><button type="button" className="btn pri" onClick={onUse}>{m.author.useThis}</button></div>
    </section>
  );
}

