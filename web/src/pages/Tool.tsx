import { Tabs } from "@base-ui/react/tabs";
import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Fragment, lazy, Suspense, useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { api, data, placeOf, reason, type Tool as ToolDoc } from "../api/client";
import type { paths } from "../api/schema";
import { everyPage, useTool, useTools } from "../api/queries";
import { Ago, Copy, EffectTag, Failed, Loading, Pane, Pretty, say, Segments, Status, Switch } from "../components/basics";
import { EditLinks, FileText } from "../components/EditLinks";
import { SandboxPlan } from "../components/SandboxPlan";
import { Tester } from "../components/Tester";
import { useTester } from "../components/tester";
import { format, m } from "../messages";

const ToolTests = lazy(() => import("../author/ToolTests"));

const TABS = ["try", "definition", "models", "policy", "tests", "calls"] as const;

/** Everything on the page is of one tool: another tool begins anew. */
export default function Tool() {
  const place = useParams<{ bundle: string; slug: string; version: string }>();
  return <ToolPage key={`${place.bundle}/${place.slug}@${place.version}`} place={place} />;
}

function ToolPage({ place }: { place: { bundle: string; slug: string; version: string } }) {
  const [params, setParams] = useSearchParams();
  const asked = useTool(place);
  const queries = useQueryClient();
  const tab = TABS.find((one) => one === params.get("tab")) ?? "try";
  const rows = useTools().data?.tools;
  const row = rows?.find((one) => one.bundle === place.bundle && one.slug === place.slug && one.version === place.version);
  const change = useMutation({
    mutationFn: (isEnabled: boolean) => data(api.PATCH("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(place) }, body: { isEnabled } })),
    onSettled: () => Promise.all(["tools", "tool"].map((name) => queries.invalidateQueries({ queryKey: [name] }))),
    onError: (error) => say(reason(error)),
  });
  if (asked.isPending) return <Loading />;
  if (asked.error) return <><p><Link href="/tools">{m.tools.title}</Link></p><Failed error={asked.error} retry={() => void asked.refetch()} /></>;
  const tool = asked.data;
  return (
    <>
      <p className="crumbs sub"><Link href="/tools">{m.tools.title}</Link> / <Link href={`/tools?bundle=${encodeURIComponent(tool.bundle)}`}>{tool.bundle}</Link></p>
      <div className="bar wrap tight">
        <h1 className="mono">{tool.slug}</h1>
        <span className="chip">{tool.version}</span>
        <EffectTag effects={tool.effects} />
        <span className="sub">{m.tools.kinds[tool.type] ?? tool.type}{row?.tokens ? ` · ${m.tool.tokens(format.number(row.tokens))}` : ""}</span>
        <span className="sp" />
        <EditLinks tool={tool} file={row?.file} />
        <span className="row sub">{m.tool.enabled}<Switch label={m.tools.switchTool(tool.slug)} checked={change.isPending ? change.variables : tool.isEnabled} disabled={change.isPending} onChange={(next) => change.mutate(next)} /></span>
      </div>
      <p className="sub lead">{tool.description}</p>
      {tool.warnings?.map((warning) => <div key={String(warning)} className="note">{String(warning)}</div>)}
      <Tabs.Root value={tab} onValueChange={(next) => setParams((before) => { before.set("tab", String(next)); return before; }, { replace: true })}>
        <Tabs.List className="tabs">{TABS.map((one) => <Tabs.Tab key={one} value={one}>{m.tool.tabs[one]}</Tabs.Tab>)}</Tabs.List>
        <Tabs.Panel value="try"><Pane name={`try ${tool.digest}`}><Tester tool={tool} file={row?.file} /></Pane></Tabs.Panel>
        <Tabs.Panel value="definition"><Pane name="definition"><Definition tool={tool} file={row?.file} /></Pane></Tabs.Panel>
        <Tabs.Panel value="models"><Pane name="models"><Models tool={tool} /></Pane></Tabs.Panel>
        <Tabs.Panel value="policy"><Pane name="policy"><Policy tool={tool} /></Pane></Tabs.Panel>
        <Tabs.Panel value="tests"><Pane name="tests"><Suspense fallback={<Loading />}><ToolTests tool={tool} file={row?.file} /></Suspense></Pane></Tabs.Panel>
        <Tabs.Panel value="calls"><Pane name="calls"><ToolCalls tool={tool} /></Pane></Tabs.Panel>
      </Tabs.Root>
    </>
  );
}

function Definition({ tool, file }: { tool: ToolDoc; file?: string | null }) {
  const limits = (tool as { limits?: Record<string, number> }).limits;
  return (
    <div className="stack">
      {tool.isBuiltIn ? <div className="note info"><span>{m.tool.readOnly}</span></div> : null}
      <FileText tool={tool} file={file} />
      <dl className="dl">
        <dt>{m.tool.source}</dt><dd>{tool.source}</dd>
        {file ? <><dt>{m.tool.file}</dt><dd><code>{file}</code></dd></> : null}
        <dt>{m.tool.effects}</dt><dd>{tool.effects.join(", ") || m.common.none}</dd>
        {typeof tool.asks === "string" ? <><dt>{m.tool.asks}</dt><dd>{tool.asks}</dd></> : null}
        {tool.aliases.length > 0 ? <><dt>{m.tool.aliases}</dt><dd><code>{tool.aliases.join(", ")}</code></dd></> : null}
        {limits ? <><dt>{m.tool.limits}</dt><dd>{Object.entries(limits).map(([name, value]) => `${name} ${format.number(value)}`).join(" · ")}</dd></> : null}
        <dt>{m.tool.digest}</dt><dd><code>{tool.digest}</code></dd>
      </dl>
      {tool.impl ? <><h2>{m.tool.impl}</h2><div className="panel"><Pretty value={tool.impl} /></div></> : null}
      <h2>{m.tool.inputSchema}</h2><div className="panel"><Pretty value={tool.inputSchema} /></div>
      {tool.outputSchema ? <><h2>{m.tool.outputSchema}</h2><div className="panel"><Pretty value={tool.outputSchema} /></div></> : null}
    </div>
  );
}

/** Every provider of the API, and whether it has a strict mode: one that is missing here is a fault of types. */
type Provider = Exclude<paths["/api/definitions/{provider}"]["get"]["parameters"]["path"]["provider"], "plain">;
const HAS_STRICT: Record<Provider, boolean> = { openai: true, "openai-functions": false, "openai-responses": true, anthropic: true, gemini: false, ollama: false, mcp: false };
const PROVIDERS = Object.keys(HAS_STRICT) as Provider[];

function Models({ tool }: { tool: ToolDoc }) {
  const [provider, setProvider] = useState<Provider>("openai");
  const [indented, setIndented] = useState(true);
  const [wantsStrict, setWantsStrict] = useState(false);
  const asked = useQueries({
    queries: PROVIDERS.map((one) => {
      const strict = wantsStrict && HAS_STRICT[one];
      return {
        queryKey: ["tool", "definitions", one, strict, tool.digest],
        queryFn: ({ signal }: { signal: AbortSignal }) => data(api.GET("/api/definitions/{provider}", { params: { path: { provider: one }, query: { tools: `${tool.bundle}/${tool.slug}@${tool.version}`, texts: true, strict } }, signal })),
      };
    }),
  });
  const shown = asked[PROVIDERS.indexOf(provider)]!;
  const sent = shown.data?.texts?.[0];
  return (
    <div className="stack">
      <div className="scroll"><Segments<Provider> label={m.tool.provider} value={provider} choices={PROVIDERS.map((one, at) => { const tokens = asked[at]!.data?.texts?.[0]?.tokens; return [one, tokens === undefined ? one : `${one} · ${format.number(tokens)}`]; })} onChange={setProvider} /></div>
      {HAS_STRICT[provider] ? <label className="row sub"><input type="checkbox" checked={wantsStrict} onChange={(event) => setWantsStrict(event.target.checked)} />{m.tool.strict}</label> : null}
      {shown.error ? <Failed error={shown.error} /> : shown.isPending ? <Loading /> : (
        <>
          {shown.data.dropped.map((one) => <div key={one.reason} className="note bad">{m.tool.dropped} {one.reason}</div>)}
          {shown.data.losses.length > 0 ? <><h2>{m.tool.losses}</h2><div className="panel"><table><tbody>{shown.data.losses.map((loss) => <tr key={loss.pointer + loss.reason}><td><code>{loss.pointer || "/"}</code></td><td>{loss.reason}</td></tr>)}</tbody></table></div></> : <p className="sub">{m.tool.noLosses}</p>}
          {sent ? (
            <>
              <div className="row wrap"><span className="sub num">{m.tool.tokens(format.number(sent.tokens))} · {m.tool.bytes(new TextEncoder().encode(sent.text).length)}</span><span className="sp" />
                <Segments<"exact" | "indented"> label={m.tool.layout} value={indented ? "indented" : "exact"} choices={[["indented", m.tool.indented], ["exact", m.tool.asSent]]} onChange={(next) => setIndented(next === "indented")} />
                <Copy text={sent.text} /></div>
              <div className="panel"><pre className="out" tabIndex={0}>{indented ? JSON.stringify(JSON.parse(sent.text), null, 2) : sent.text}</pre></div>
            </>
          ) : null}
        </>
      )}
    </div>
  );
}

function Policy({ tool }: { tool: ToolDoc }) {
  const reference = `${tool.bundle}/${tool.slug}@${tool.version}`;
  const queries = useQueryClient();
  const tester = useTester(tool);
  const rules = useQuery({ queryKey: ["rules", reference], queryFn: () => data(api.GET("/api/rules", { params: { query: { tool: reference } } })) });
  const grants = useQuery({ queryKey: ["grants"], queryFn: () => everyPage((page) => data(api.GET("/api/grants", { params: { query: page } })), (page) => page.grants) });
  const simulate = useMutation({ mutationFn: () => data(api.POST("/api/rules/test", { body: { tool: reference, args: tester.args as never } })) });
  const revoke = useMutation({ mutationFn: (id: string) => data(api.DELETE("/api/grants/{id}", { params: { path: { id } } })), onSettled: () => queries.invalidateQueries({ queryKey: ["grants"] }), onError: (error) => say(reason(error)) });
  const mine = rules.data?.rules ?? [];
  const own = grants.data?.filter((grant) => grant.tool === reference) ?? [];
  return (
    <div className="stack">
      <h2>{m.tool.simulate}</h2>
      <div className="row wrap"><button type="button" className="btn" disabled={simulate.isPending} onClick={() => simulate.mutate()}>{m.tool.check}</button><span className="sub">{m.tool.simulateHint}</span></div>
      {simulate.error ? <Failed error={simulate.error} /> : null}
      {simulate.data ? (
        <div className={`note ${simulate.data.verdict === "deny" ? "bad" : simulate.data.verdict === "ask" ? "" : "info"}`}>
          <div><b>{m.tool.verdicts[simulate.data.verdict]}</b>{simulate.data.findings.map((finding) => <div key={finding.rule}><code>{finding.rule}</code> {finding.reason}</div>)}
            {simulate.data.commands.length > 0 ? <div className="sub">{m.tool.commands}: {simulate.data.commands.map((command, at) => <Fragment key={at}>{at > 0 ? " · " : ""}<code>{command.words.join(" ")}</code></Fragment>)}</div> : null}</div>
        </div>
      ) : null}
      <h2>{m.tool.grants}</h2>
      {grants.error ? <Failed error={grants.error} /> : own.length === 0 ? <p className="sub">{m.tool.noGrants}</p> : (
        <div className="panel scroll"><table><tbody>{own.map((grant) => <tr key={grant.id}><td>{m.approvals.scopes[grant.scope]}</td><td><code>{JSON.stringify(grant.shape)}</code></td><td><Ago at={grant.createdAt} /></td><td className="r"><button type="button" className="btn sm" onClick={() => revoke.mutate(grant.id)}>{m.tool.revoke}</button></td></tr>)}</tbody></table></div>
      )}
      <h2>{m.tool.rules}</h2>
      {rules.error ? <Failed error={rules.error} /> : mine.length === 0 ? <p className="sub">{m.tool.noRules}</p> : (
        <div className="panel scroll"><table><thead><tr><th>{m.settings.rule}</th><th>{m.settings.verdict}</th><th>{m.settings.reason}</th><th>{m.settings.origin}</th></tr></thead><tbody>{mine.map((rule) => <tr key={rule.name}><td><code>{rule.name}</code></td><td>{rule.verdict}</td><td>{rule.reason}</td><td className="sub">{rule.origin}</td></tr>)}</tbody></table></div>
      )}
      <SandboxPlan tool={tool} />
    </div>
  );
}

function ToolCalls({ tool }: { tool: ToolDoc }) {
  const calls = useQuery({ queryKey: ["calls", "of", tool.name, tool.bundle, tool.version], queryFn: ({ signal }) => data(api.GET("/api/calls", { params: { query: { tool: tool.name, bundle: tool.bundle, version: tool.version, pageSize: 50 } }, signal })) });
  if (calls.error) return <Failed error={calls.error} />;
  if (calls.isPending) return <Loading />;
  if (calls.data.calls.length === 0) return <div className="empty">{m.tool.noCalls}</div>;
  return (
    <div className="panel scroll"><table><thead><tr><th>{m.calls.when}</th><th>{m.calls.caller}</th><th>{m.calls.result}</th><th className="r">{m.calls.took}</th></tr></thead>
      <tbody>{calls.data.calls.map((call) => <tr key={call.callId}><td><Link href={`/calls/${encodeURIComponent(call.callId)}`}>{call.startTime ? <Ago at={call.startTime} /> : call.callId}</Link></td><td>{call.caller}</td><td><Status status={call.status} ok={call.ok} code={call.code} /></td><td className="r num">{format.took(call.durationMs)}</td></tr>)}</tbody></table></div>
  );
}
