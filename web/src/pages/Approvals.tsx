// What waits for a person, as it comes. The list never reorders what is being read, and nothing takes focus.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Fragment, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { ApiError, type Approval, api, type Args, data, reason, type Schemas, toolPath, type ToolRow } from "../api/client";
import { useConnection } from "../api/live";
import { everyPage, useTools, useWaiting } from "../api/queries";
import { Ago, EffectTag, Failed, Loading, Pane, Pretty, say, Segments, useKey, useNow, Words } from "../components/basics";
import { Dialog } from "../components/Dialog";
import { Diff } from "../components/Diff";
import { Icon } from "../components/icons";
import { LiveCall } from "../components/LiveCall";
import { m } from "../messages";
import { checker } from "../schema/check";
import { rounded } from "../schema/exact";
import { SchemaForm } from "../schema/Form";
import { same, type Schema } from "../schema/resolve";

export default function Approvals() {
  const { id } = useParams<{ id?: string }>();
  const [, navigate] = useLocation();
  const waiting = useWaiting();
  // In the order in which they came: one that comes joins below.
  const order = useRef<string[]>([]);
  const list = useMemo(() => {
    const known = new Map((waiting.data ?? []).map((one) => [one.id, one]));
    order.current = [...order.current.filter((one) => known.has(one)), ...[...known.values()].filter((one) => !order.current.includes(one.id)).sort((a, b) => (a.createdAt ?? "").localeCompare(b.createdAt ?? "")).map((one) => one.id)];
    return order.current.map((one) => known.get(one)!);
  }, [waiting.data]);
  const at = list.findIndex((one) => one.id === id);
  useEffect(() => {
    if (!id && list[0]) navigate(`/approvals/${list[0].id}`, { replace: true });
  }, [id, list[0]?.id]);
  const go = (by: number) => {
    const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (next) navigate(`/approvals/${next.id}`);
  };
  useKey((event) => (event.key === "j" || event.key === "k") && !event.ctrlKey && !event.metaKey, (event) => go(event.key === "j" ? 1 : -1));
  const [allowed, setAllowed] = useState("Notification" in window ? Notification.permission : "denied");
  return (
    <>
      <div className="bar wrap">
        <h1>{m.approvals.title}</h1><span className="sub" role="status">{m.approvals.waiting(list.length)}</span><span className="sp" />
        {allowed === "default" ? <button type="button" className="btn sm" onClick={() => void Notification.requestPermission().then(setAllowed)}>{m.approvals.notify}</button> : null}
      </div>
      {waiting.error ? <Failed error={waiting.error} retry={() => void waiting.refetch()} /> : null}
      {waiting.isPending ? <Loading /> : list.length === 0 && !id ? (
        <><div className="panel"><div className="empty"><Icon name="approvals" size={24} /><b>{m.approvals.none}</b><span>{m.approvals.noneHint}</span></div></div><Decided /></>
      ) : (
        <div className={list.length > 0 ? "queue" : undefined}>
          <div>
            {list.length > 0 ? (
              <div className="turn row"><span className="num" role="status">{at < 0 ? m.approvals.waiting(list.length) : m.approvals.position(at + 1, list.length)}</span><span className="sp" />
                <button type="button" className="btn" disabled={at <= 0} onClick={() => go(-1)}>{m.approvals.previous}</button>
                <button type="button" className="btn" disabled={at === list.length - 1} onClick={() => go(1)}>{m.approvals.next}</button></div>
            ) : null}
            <nav aria-label={m.approvals.title}>
              {list.map((one) => <Pane key={one.id} name={one.id}><Card one={one} current={one.id === id} /></Pane>)}
            </nav>
            {list.length > 0 ? <p className="hint keyhint"><kbd>J</kbd> <kbd>K</kbd> {m.approvals.keyMove}. {m.approvals.newest}</p> : null}
          </div>
          {id ? <Pane key={id} name={id}><One id={id} known={list[at]} /></Pane> : null}
        </div>
      )}
      {list.length === 0 && id ? <Decided /> : null}
    </>
  );
}

/** Exactly the tool that the question is about; `null` where the question does not say it (what a command planted is of no tool). */
function placeOf(one: Approval): { bundle: string; slug: string; version: string } | null {
  const { bundle, slug, version } = one;
  return bundle && slug && version ? { bundle, slug, version } : null;
}

function effectsOf(tools: ToolRow[] | undefined, one: Approval): string[] {
  const place = placeOf(one);
  return tools?.find((tool) => place && tool.bundle === place.bundle && tool.slug === place.slug && tool.version === place.version)?.effects ?? [];
}

function left(expiresAt: string | null | undefined, now: number): string {
  if (!expiresAt) return "";
  const seconds = Math.max(0, Math.ceil((new Date(expiresAt).getTime() - now) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function Card({ one, current }: { one: Approval; current: boolean }) {
  const now = useNow();
  const tools = useTools().data?.tools;
  return (
    <Link className="card" href={`/approvals/${one.id}`} aria-current={current ? "true" : undefined}>
      <div className="line"><span className="slug">{one.tool}</span><EffectTag effects={effectsOf(tools, one)} /><span className="sp" /><span className="st wait num"><Icon name="clock" size={13} />{left(one.expiresAt, now)}</span></div>
      <div className="what">{one.effect.replaceAll("`", "")}</div>
      <div className="sub">{one.caller}</div>
    </Link>
  );
}

function One({ id, known }: { id: string; known?: Approval }) {
  const asked = useQuery({ queryKey: ["approvals", "one", id], queryFn: ({ signal }) => data(api.GET("/api/approvals/{id}", { params: { path: { id } }, signal })), initialData: known, retry: false });
  if (asked.isPending) return <Loading />;
  if (asked.error && !asked.data) return <Failed error={asked.error} />;
  return asked.data.status === "pending" ? <Question one={asked.data} /> : <Answered one={asked.data} />;
}

function Question({ one }: { one: Approval }) {
  const queries = useQueryClient();
  const now = useNow();
  const connection = useConnection();
  const tools = useTools().data?.tools;
  // What is shown is what is decided: an edit is kept although the list behind it moves.
  const [args, setArgs] = useState(one.args as Args);
  const [blocked, setBlocked] = useState<Record<string, string>>({});
  const [view, setView] = useState<"diff" | "edit">(one.diff ? "diff" : "edit");
  const [denies, setDenies] = useState(false);
  const [grant, setGrant] = useState(-1);
  const [scope, setScope] = useState<Schemas["GrantScope"]>("session");
  const place = placeOf(one);
  const reference = place ? `${place.bundle}/${place.slug}@${place.version}` : one.tool;
  // Of this version: another one may have other arguments.
  const tool = useQuery({ queryKey: ["tool", "lookup", reference], enabled: place !== null, queryFn: ({ signal }) => data(api.GET("/api/lookup", { params: { query: { tool: reference } }, signal })), retry: false });
  const schema = (tool.data?.inputSchema ?? true) as Schema;
  const problems = useMemo(() => checker(schema)(args), [schema, args]);
  const changes = [...new Set([...Object.keys(args), ...Object.keys(one.args)])].filter((name) => !same(args[name], (one.args as Args)[name])).length;
  const offer = one.offers?.[grant];
  const simulated = useQuery({
    queryKey: ["grants", "simulate", one.id, grant, scope],
    enabled: offer !== undefined,
    queryFn: ({ signal }) => data(api.POST("/api/grants", { params: { query: { simulate: true } }, body: { tool: reference, shape: offer!.shape, scope, caller: one.caller ?? null } as never, signal })) as Promise<{ words?: string }>,
    retry: false,
  });
  const answer = useMutation({
    mutationFn: (given: { approved: boolean; reason?: string }) => data(api.POST("/api/approvals/{id}", {
      params: { path: { id: one.id } },
      body: { approved: given.approved, argsDigest: one.argsDigest, by: "web admin", reason: given.reason || null, modifiedArgs: given.approved && changes > 0 ? (args as never) : null, grant: given.approved && offer ? { shape: offer.shape, scope } : null },
    })),
    onSuccess: (_, given) => say(given.approved ? m.approvals.done(one.tool) : m.approvals.denied(one.tool)),
    // The question goes when it is read again; what was refused is still said.
    onError: (error) => say(`${refusedWords(error)} ${reason(error)}`),
    onSettled: () => { void queries.invalidateQueries({ queryKey: ["approvals"] }); },
  });
  const why = connection === "lost" ? m.approvals.paused : (Object.values(blocked)[0] ?? (changes > 0 && rounded(args) !== null ? m.form.tooLarge : null));
  const approve = () => { if (why === null && !answer.isPending) answer.mutate({ approved: true }); };
  // Not from the button that denies, and once for a key that is held.
  const isDenying = (event: KeyboardEvent) => event.target instanceof Element && event.target.closest(".denies") !== null;
  useKey((event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && !isDenying(event), approve);
  return (
    <article className="panel det" aria-label={one.tool}>
      <header className="stack gap">
        <div className="row wrap">{place ? <Link className="slug" href={toolPath(place)}>{one.tool}</Link> : <b className="slug">{one.tool}</b>}{place && place.version !== "v1" ? <span className="chip">{place.version}</span> : null}<EffectTag effects={effectsOf(tools, one)} /><span className="sp" /><span className="st wait num"><Icon name="clock" size={14} />{m.approvals.left(left(one.expiresAt, now))}</span></div>
        <p className="effect"><Words text={one.effect} capital /></p>
        <p className="sub">{m.approvals.asked} <b>{one.caller}</b>{one.createdAt ? <> · {m.approvals.since} <Ago at={one.createdAt} /></> : null} · {m.approvals.rule}: <Words text={one.reason} /></p>
      </header>
      <div className="sec">
        {one.bound && one.bound.length > 0 ? <div className="field"><h2>{m.approvals.bound}</h2>{one.bound.map((file) => <div key={file.path}><code>{file.path}</code></div>)}</div> : null}
        <div className="bar"><h2>{m.approvals.args}</h2><span className="sp" />{one.diff ? <Segments<"diff" | "edit"> label={m.approvals.args} value={view} choices={[["diff", m.approvals.diff], ["edit", m.tool.form]]} onChange={setView} /> : null}</div>
        {view === "diff" && one.diff ? <><Given args={args} /><Diff text={one.diff} /></> : place === null || tool.error ? <Pretty value={one.args} /> : tool.isPending ? <Loading /> : (
          <SchemaForm schema={schema} value={args} before={one.args as Args} problems={problems} onChange={setArgs} onBlock={(pointer, problem) => setBlocked((before) => { const { [pointer]: _, ...rest } = before; return problem === null ? rest : { ...rest, [pointer]: problem }; })} />
        )}
      </div>
      <footer>
        {answer.error ? <Refused error={answer.error} /> : null}
        {one.offers && one.offers.length > 0 ? (
          <div className="row wrap sub">
            <label htmlFor="grant">{m.approvals.grant}</label>
            <select id="grant" className="in grant" value={grant} onChange={(event) => setGrant(Number(event.target.value))}><option value={-1}>{m.approvals.grantNo}</option>{one.offers.map((one, at) => <option key={at} value={at}>{one.words.replaceAll("`", "")}</option>)}</select>
            {offer ? <select className="in grant" aria-label={m.approvals.grantScope} value={scope} onChange={(event) => setScope(event.target.value as typeof scope)}>{(["session", "project", "user"] as const).map((one) => <option key={one} value={one}>{m.approvals.scopes[one]}</option>)}</select> : null}
            {offer && simulated.data?.words ? <span>{m.approvals.simulated} {simulated.data.words}</span> : null}
          </div>
        ) : one.noGrant ? <p className="hint">{m.approvals.noGrantWhy} {one.noGrant}</p> : null}
        <div className="row wrap">
          <button type="button" className="btn pri" aria-disabled={why !== null || answer.isPending} title={why ?? undefined} onClick={approve}><Icon name="check" />{changes > 0 ? m.approvals.approveWith(changes) : m.approvals.approve} <kbd>Ctrl ⏎</kbd></button>
          <button type="button" className="btn denies" disabled={connection === "lost" || answer.isPending} title={connection === "lost" ? m.approvals.paused : undefined} onClick={() => setDenies(true)}>{m.approvals.deny}</button>
          {why ? <span className="msg" role="alert">{why}</span> : null}
        </div>
      </footer>
      <Deny open={denies} paused={connection === "lost"} onClose={() => setDenies(false)} onDeny={(reason) => answer.mutate({ approved: false, reason })} />
    </article>
  );
}

/** Every argument beside the diff, long ones by their beginning: the diff shows what a file becomes, not all that is sent. */
function Given({ args }: { args: Args }) {
  return (
    <dl className="dl given">{Object.entries(args).map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      const brief = text.length > MAX_BRIEF || text.includes("\n") ? `${text.slice(0, MAX_BRIEF).split("\n")[0]}…` : text;
      return <Fragment key={name}><dt className="mono">{name}</dt><dd><code>{brief}</code></dd></Fragment>;
    })}</dl>
  );
}

const MAX_BRIEF = 120;

/** Each refusal of a decision in its own words. */
function refusedWords(error: unknown): string {
  const status = error instanceof ApiError ? error.status : 0;
  return status === 409 ? m.approvals.decided : status === 410 ? m.approvals.expired : status === 422 || status === 400 ? m.approvals.badEdit : "";
}

function Refused({ error }: { error: unknown }) {
  return <div className="note bad" role="alert"><Icon name="warn" /><div><b>{refusedWords(error)}</b> {reason(error)}</div></div>;
}

function Deny({ open, paused, onClose, onDeny }: { open: boolean; paused: boolean; onClose(): void; onDeny(reason: string): void }) {
  const [text, setText] = useState("");
  const deny = () => {
    if (paused) return;
    onDeny(text);
    onClose();
  };
  return (
    <Dialog open={open} onClose={onClose} title={m.approvals.denyTitle}>
      <form className="body stack" onSubmit={(event) => { event.preventDefault(); deny(); }}
        onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); if (!event.repeat) deny(); } }}>
        <div className="field"><label htmlFor="deny-reason">{m.approvals.denyReason}</label><textarea id="deny-reason" className="in" rows={2} value={text} onChange={(event) => setText(event.target.value)} /></div>
        <div className="row wrap"><button type="submit" className="btn bad" disabled={paused}>{m.approvals.denyNow} <kbd>Ctrl ⏎</kbd></button><button type="button" className="btn" onClick={onClose}>{m.common.cancel}</button>{paused ? <span className="msg" role="alert">{m.approvals.paused}</span> : null}</div>
      </form>
    </Dialog>
  );
}

/** What was withdrawn, or asked again, was decided by no one. */
const LOOKS: Record<string, string> = { denied: "bad", expired: "bad", withdrawn: "off", replaced: "off" };

function Answered({ one }: { one: Approval }) {
  return (
    <article className="panel det">
      <header className="stack gap">
        <div className="row wrap"><b className="slug">{one.tool}</b><span className={`st ${LOOKS[one.status] ?? "ok"}`}>{m.approvals.statuses[one.status]}</span></div>
        <p className="effect"><Words text={one.effect} capital /></p>
        {one.answer ? <p className="sub">{one.answer.by} · <Ago at={one.answer.at} />{one.answer.reason ? ` · ${one.answer.reason}` : ""}</p> : null}
      </header>
      {one.answer?.approved ? <div className="sec"><LiveCall callId={one.callId} /></div> : null}
      <div className="sec"><h2>{m.approvals.args}</h2><Pretty value={one.answer?.modifiedArgs ?? one.args} /></div>
    </article>
  );
}

/** How many decided questions are drawn at once. */
const DECIDED = 50;

function Decided() {
  // The server's list begins with the oldest.
  const all = useQuery({ queryKey: ["approvals", "all"], queryFn: ({ signal }) => everyPage((page) => data(api.GET("/api/approvals", { params: { query: page }, signal })), (page) => page.approvals).then((list) => list.filter((one) => one.status !== "pending").reverse()) });
  const [shown, setShown] = useState(DECIDED);
  if (!all.data || all.data.length === 0) return null;
  return (
    <section aria-label={m.approvals.history} className="above">
      <h2>{m.approvals.history}</h2>
      <div className="panel scroll above"><table><thead><tr><th>{m.calls.tool}</th><th>{m.tool.would}</th><th>{m.calls.caller}</th><th>{m.calls.result}</th><th>{m.calls.when}</th></tr></thead><tbody>{all.data.slice(0, shown).map((one) => <tr key={one.id}><td><Link className="slug" href={`/approvals/${one.id}`}>{one.tool}</Link></td><td><Words text={one.effect} /></td><td>{one.caller}</td><td>{m.approvals.statuses[one.status]}</td><td>{one.answer ? <Ago at={one.answer.at} /> : null}</td></tr>)}</tbody></table></div>
      {all.data.length > shown ? <p className="above"><button type="button" className="btn" onClick={() => setShown(shown + DECIDED)}>{m.common.more}</button></p> : null}
    </section>
  );
}
