// The text of a tool's file, with the checker beside it: as a form or as text, with its tests, saved and trusted.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { ApiError, api, data } from "../api/client";
import { useCheck } from "../author/check";
import { draftKey, isChanged, setDraft, useDraft } from "../author/drafts";
import { httpTool, HttpForm } from "../author/HttpForm";
import { Problems } from "../author/ProblemList";
import { fileOf, pathOfReference, saveFile } from "../author/save";
import { TestsPane, testsOf } from "../author/TestsPane";
import { Failed, Loading, Pane, say, Segments, useKey } from "../components/basics";
import { Confirm } from "../components/Dialog";
import { Icon } from "../components/icons";
import { m } from "../messages";
import "../styles/author.css";
import type { Schema } from "../schema/resolve";
import { read } from "../yaml/document";

const Editor = lazy(() => import("../author/Editor"));
const Builder = lazy(() => import("../author/Builder"));

type View = "form" | "text" | "tests";

export default function Author() {
  const { scope, file } = useParams<{ scope: string; file: string }>();
  const key = draftKey(scope, file);
  const draft = useDraft(key);
  const there = useQuery({ queryKey: ["files", scope, file], queryFn: () => fileOf(scope, file), retry: false, enabled: draft === null, gcTime: 0 });
  useEffect(() => {
    if (draft === null && there.data) setDraft(key, { content: there.data.content, digest: there.data.digest, saved: there.data.content });
  }, [draft, there.data, key]);
  if (draft === null) return there.error ? <><p><Link href="/tools">{m.tools.title}</Link></p><Failed error={there.error} retry={() => void there.refetch()} /></> : <Loading />;
  return <Open scope={scope} file={file} />;
}

function Open({ scope, file }: { scope: string; file: string }) {
  const key = draftKey(scope, file);
  const draft = useDraft(key)!;
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const isYaml = file.endsWith(".yaml");
  const { content } = draft;
  const checked = useCheck(file, content);
  const schema = useQuery({ queryKey: ["format", isYaml], staleTime: Infinity, queryFn: () => data(api.GET("/api/formats/{format}", { params: { path: { format: isYaml ? "yaml" : "http" } } })) });
  const hasSteps = isYaml && read(content, ["steps"]) !== undefined;
  const canForm = isYaml || httpTool(content) !== null;
  const [view, setView] = useState<View>(() => (hasSteps || (!isYaml && canForm) ? "form" : "text"));
  const [deletes, setDeletes] = useState(false);
  const change = (next: string) => setDraft(key, { ...draft, content: next });
  const errors = checked.problems.filter((problem) => problem.severity === "error").length;
  const why = !checked.isCurrent ? m.author.checking : errors > 0 ? m.author.hasErrors(errors) : !isChanged(draft) ? m.author.nothingNew : null;
  const save = useMutation({
    mutationFn: () => saveFile(queries, scope, file, content, draft.digest),
    onSuccess: (saved) => {
      setDraft(key, { content: saved.content, digest: saved.digest, saved: saved.content });
      say(m.author.saved(saved.shown));
    },
  });
  const remove = useMutation({
    mutationFn: () => data(api.DELETE("/api/files/{scope}/{file}", { params: { path: { scope, file }, query: { digest: draft.digest } } })),
    onSuccess: () => {
      setDraft(key, null);
      for (const name of ["tools", "tool", "files"]) void queries.invalidateQueries({ queryKey: [name] });
      say(m.author.removed(file));
      navigate("/tools");
    },
  });
  const reload = useMutation({ mutationFn: () => fileOf(scope, file), onSuccess: (now) => { setDraft(key, { content: now.content, digest: now.digest, saved: now.content }); save.reset(); } });
  useKey((event) => event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey), (event) => { event.preventDefault(); if (!why) save.mutate(); });
  const reference = save.data?.reference ?? (draft.saved !== null && checked.tool ? `${scope}/${checked.tool.replaceAll("_", "-")}@${String((isYaml ? read(content, ["version"]) : httpTool(content)?.["version"]) ?? "v1")}` : undefined);
  const isConflict = save.error instanceof ApiError && save.error.status === 409;
  return (
    <>
      <p className="crumbs sub"><Link href="/tools">{m.tools.title}</Link> / {m.author.scopes[scope] ?? scope}</p>
      <div className="bar wrap tight">
        <h1 className="mono">{file}</h1>
        <span className="sub" role="status">{draft.saved === null ? m.author.unsavedNew : isChanged(draft) ? m.author.unsaved : m.author.isSaved}</span>
        <span className="sp" />
        {reference && draft.saved !== null ? <Link className="btn" href={pathOfReference(reference)}>{m.tool.tabs.try}</Link> : null}
        {draft.digest ? <button type="button" className="btn bad" onClick={() => setDeletes(true)}>{m.author.delete}</button> : null}
        <button type="button" className="btn pri" aria-disabled={why !== null || save.isPending} title={why ?? undefined} onClick={() => { if (!why) save.mutate(); }}>{m.author.save} <kbd>Ctrl S</kbd></button>
      </div>
      {save.error ? <div className="note bad" role="alert"><Icon name="warn" /><div className="grow">{save.error.message}</div>{isConflict && draft.digest ? <button type="button" className="btn sm" onClick={() => reload.mutate()}>{m.author.reload}</button> : null}</div> : null}
      {remove.error ? <Failed error={remove.error} /> : null}
      <div className="authorgrid">
        <section aria-label={m.author.text}>
          <div className="bar wrap"><Segments<View> label={m.author.view} value={view} choices={[["form", hasSteps || isYaml ? m.author.builder : m.tool.form], ["text", isYaml ? "YAML" : "JSON"], ...(isYaml ? [["tests", `${m.tool.tabs.tests} ${testsOf(content).length}`] as [View, string]] : [])]} onChange={setView} /></div>
          <Pane name={view}><Suspense fallback={<Loading />}>
            {view === "tests" ? <TestsPane file={file} content={content} onChange={change} />
              : view === "form" ? (isYaml ? <Builder content={content} onChange={change} /> : <HttpForm content={content} onChange={change} />)
                : <Editor label={file} file={file} value={content} problems={checked.problems} checked={checked.text} schema={schema.data as Schema | undefined} onChange={change} />}
          </Suspense></Pane>
        </section>
        <aside className="stack" aria-label={m.author.problems}>
          <Problems checked={checked} onFix={change} />
          {view === "form" ? <details><summary className="sub">{m.author.whatItMakes}</summary><pre className="out panel" tabIndex={0}>{content}</pre></details> : null}
          <p className="hint">{m.author.savedTrusts}</p>
        </aside>
      </div>
      <Confirm open={deletes} danger title={m.author.deleteAsk(file)} text={m.author.deleteText} yes={m.author.delete} onClose={() => setDeletes(false)} onYes={() => remove.mutate()} />
    </>
  );
}
