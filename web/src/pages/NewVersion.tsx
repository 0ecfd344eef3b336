// A stored version never changes: its edited text becomes another version.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { type Args, api, data, placeOf, type Tool, toolPath } from "../api/client";
import { useTool, useTools } from "../api/queries";
import { useCheck } from "../author/check";
import { draftKey, isChanged, setDraft, useDraft } from "../author/drafts";
import { httpTool, HttpForm } from "../author/HttpForm";
import { Problems } from "../author/ProblemList";
import { TestsPane, testsOf } from "../author/TestsPane";
import { Failed, Loading, Pane, say, Segments, useKey } from "../components/basics";
import { m } from "../messages";
import "../styles/author.css";
import type { Schema } from "../schema/resolve";

const Editor = lazy(() => import("../author/Editor"));

/** What the store and the server add to a record, and no one writes. */
const OWNED = new Set(["schemaVersion", "bundleID", "toolID", "isBuiltIn", "createdAt", "modifiedAt", "aliases", "availability", "bundle", "callCount", "digest", "effects", "inputSchema", "lastCalledAt", "shadowedBy", "source", "warnings", "name", "version", "isEnabled"]);

export default function NewVersion() {
  const place = useParams<{ bundle: string; slug: string; version: string }>();
  const asked = useTool(place);
  if (asked.isPending) return <Loading />;
  if (asked.error) return <Failed error={asked.error} />;
  return <Open tool={asked.data} />;
}

const written = (tool: Tool) => `${JSON.stringify(Object.fromEntries(Object.entries(tool).filter(([name]) => !OWNED.has(name))), null, 2)}\n`;

type View = "form" | "text" | "tests";

function Open({ tool }: { tool: Tool }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const versions = (useTools().data?.tools ?? []).filter((one) => one.bundle === tool.bundle && one.slug === tool.slug).map((one) => one.version);
  const free = () => { for (let n = 2; ; n += 1) if (!versions.includes(`v${n}`)) return `v${n}`; };
  const file = `${tool.slug}.json`;
  const key = draftKey("version", `${tool.bundle}/${tool.slug}@${tool.version}`);
  // What was typed is kept while something else is looked at.
  const draft = useDraft(key) ?? { content: written(tool), saved: written(tool) };
  const { content } = draft;
  const change = (next: string) => setDraft(key, { ...draft, content: next });
  const [version, setVersion] = useState("");
  const next = version || free();
  const checked = useCheck("definition.json", content);
  const schema = useQuery({ queryKey: ["format", false], staleTime: Infinity, queryFn: () => data(api.GET("/api/formats/{format}", { params: { path: { format: "http" } } })) });
  const canForm = httpTool(content) !== null;
  const [view, setView] = useState<View>(canForm ? "form" : "text");
  const tests = testsOf(content);
  const errors = checked.problems.filter((problem) => problem.severity === "error").length;
  const save = useMutation({
    mutationFn: () => data(api.PUT("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: { ...placeOf(tool), v: next } }, body: JSON.parse(content) as Args as never })),
    onSuccess: () => {
      setDraft(key, null);
      for (const name of ["tools", "tool"]) void queries.invalidateQueries({ queryKey: [name] });
      say(m.author.versionSaved(next));
      navigate(toolPath({ ...tool, version: next }));
    },
  });
  const why = !checked.isCurrent ? m.author.checking : errors > 0 ? m.author.hasErrors(errors) : !isChanged(draft) ? m.author.nothingNew : versions.includes(next) ? m.author.takenVersion : null;
  useKey((event) => event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey), (event) => { event.preventDefault(); if (!why && !save.isPending) save.mutate(); });
  return (
    <>
      <p className="crumbs sub"><Link href={toolPath(tool)}>{tool.bundle}/{tool.slug}</Link></p>
      <div className="bar wrap"><h1 className="mono">{tool.slug}</h1><span className="chip">{tool.version}</span>
        <span className="sub" role="status">{isChanged(draft) ? m.author.unsaved : ""}</span><span className="sp" />
        {isChanged(draft) ? <button type="button" className="btn" onClick={() => setDraft(key, null)}>{m.author.discard}</button> : null}
        <label className="row sub">{m.author.versionName}<input className="in short" value={next} onChange={(event) => setVersion(event.target.value)} /></label>
        <button type="button" className="btn pri" aria-disabled={why !== null || save.isPending} title={why ?? undefined} onClick={() => { if (!why && !save.isPending) save.mutate(); }}>{m.author.newVersion} <kbd>Ctrl S</kbd></button></div>
      <p className="hint">{m.author.versionHint}</p>
      {save.error ? <Failed error={save.error} /> : null}
      <div className="authorgrid">
        <section aria-label={m.author.text}>
          <div className="bar wrap"><Segments<View> label={m.author.view} value={view} choices={[["form", m.tool.form], ["text", "JSON"], ["tests", `${m.tool.tabs.tests} ${tests.length}`]]} onChange={setView} /></div>
          <Pane name={view}><Suspense fallback={<Loading />}>
            {view === "tests" ? <TestsPane file={file} content={content} readOnly onChange={change} />
              : view === "form" ? <HttpForm content={content} onChange={change} />
                : <Editor label={tool.slug} file="definition.json" value={content} problems={checked.problems} checked={checked.text} schema={schema.data as Schema | undefined} onChange={change} />}
          </Suspense></Pane>
        </section>
        <aside className="stack" aria-label={m.author.problems}><Problems checked={checked} onFix={change} /></aside>
      </div>
    </>
  );
}
