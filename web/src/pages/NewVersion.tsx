// A stored version never changes: its edited text becomes another version.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { type Args, api, data, placeOf, type Tool, toolPath } from "../api/client";
import { useTool, useTools } from "../api/queries";
import { useCheck } from "../author/check";
import { Failed, Loading, say } from "../components/basics";
import { m } from "../messages";
import "../styles/author.css";

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

function Open({ tool }: { tool: Tool }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const versions = (useTools().data?.tools ?? []).filter((one) => one.bundle === tool.bundle && one.slug === tool.slug).map((one) => one.version);
  const free = () => { for (let n = 2; ; n += 1) if (!versions.includes(`v${n}`)) return `v${n}`; };
  const [content, setContent] = useState(() => written(tool));
  const [version, setVersion] = useState("");
  const next = version || free();
  const checked = useCheck("definition.json", content);
  const errors = checked.problems.filter((problem) => problem.severity === "error").length;
  const save = useMutation({
    mutationFn: () => data(api.PUT("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: { ...placeOf(tool), v: next } }, body: JSON.parse(content) as Args as never })),
    onSuccess: () => {
      for (const name of ["tools", "tool"]) void queries.invalidateQueries({ queryKey: [name] });
      say(m.author.versionSaved(next));
      navigate(toolPath({ ...tool, version: next }));
    },
  });
  const why = !checked.isCurrent ? m.author.checking : errors > 0 ? m.author.hasErrors(errors) : versions.includes(next) ? m.author.takenName : null;
  return (
    <>
      <p className="crumbs sub"><Link href={toolPath(tool)}>{tool.bundle}/{tool.slug}</Link></p>
      <div className="bar wrap"><h1 className="mono">{tool.slug}</h1><span className="chip">{tool.version}</span><span className="sp" />
        <label className="row sub">{m.author.versionName}<input className="in short" value={next} onChange={(event) => setVersion(event.target.value)} /></label>
        <button type="button" className="btn pri" aria-disabled={why !== null || save.isPending} title={why ?? undefined} onClick={() => { if (!why) save.mutate(); }}>{m.author.newVersion}</button></div>
      <p className="hint">{m.author.versionHint}</p>
      {save.error ? <Failed error={save.error} /> : null}
      <Suspense fallback={<Loading />}><Editor label={tool.slug} file="definition.json" value={content} problems={checked.problems} checked={checked.text} onChange={setContent} /></Suspense>
      {checked.problems.map((problem, at) => <p key={at} className="msg">{problem.line}:{problem.column} {problem.message}{problem.help ? `; ${problem.help}` : ""}</p>)}
    </>
  );
}
