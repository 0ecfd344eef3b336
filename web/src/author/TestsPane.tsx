// The tests of a tool: run, record what came, add one. They work on a text, saved or not.

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Args, data, type Json, type Schemas } from "../api/client";
import { Failed } from "../components/basics";
import { Diff } from "../components/Diff";
import { Icon } from "../components/icons";
import { format, m } from "../messages";
import { append, read } from "../yaml/document";
import { freeName } from "./Builder";

type Row = Schemas["TestRow"];

const object = (value: Json | undefined): { [name: string]: Json } => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** The tests that a text has. */
export function testsOf(content: string): { name: string; parameters: Args; expects: string[] }[] {
  const tests = read(content, ["tests"]);
  return (Array.isArray(tests) ? tests : []).map(object).map((test) => ({ name: String(test["name"] ?? ""), parameters: object(test["parameters"]), expects: Object.keys(object(test["expected"])) }));
}

/** The text with one more test: a call with these arguments. What it expects is recorded. */
export function withTest(content: string, name: string, parameters: Args): string {
  return append(content, ["tests"], { name: freeName(name, testsOf(content).map((test) => test.name)), ...(Object.keys(parameters).length > 0 ? { parameters } : {}) });
}

/** With `readOnly` the tests run and are not written: those of an HTTP tool are part of its JSON. */
export function TestsPane({ file, content, readOnly = false, onChange }: { file: string; content: string; readOnly?: boolean; onChange(content: string): void }) {
  const tests = testsOf(content);
  const [everything, setEverything] = useState(false);
  const [rows, setRows] = useState<Record<string, Row>>({});
  const [notes, setNotes] = useState<string[]>([]);
  const run = useMutation({
    mutationFn: (wish: { tests?: string[]; record?: boolean }) => data(api.POST("/api/tests", { body: { file, content, everything, ...wish } })),
    onSuccess: (done, wish) => {
      // What was recorded was judged by what it expected before.
      const judged = done.tests.filter((row) => !wish.record || done.notRecorded?.some((note) => note.startsWith(`${row.test}:`)));
      setRows((before) => ({ ...Object.fromEntries(Object.entries(before).filter(([name]) => !done.tests.some((row) => row.test === name))), ...Object.fromEntries(judged.map((row) => [row.test, row])) }));
      setNotes(done.notRecorded ?? []);
      if (done.content && done.content !== content) onChange(done.content);
    },
  });
  const passed = tests.filter((test) => rows[test.name]?.status === "passed").length;
  return (
    <div className="stack">
      <div className="row wrap">
        <button type="button" className="btn pri" disabled={tests.length === 0 || run.isPending} title={tests.length === 0 ? m.author.noTests : undefined} onClick={() => run.mutate({})}><Icon name="play" />{run.isPending ? m.author.testing : m.author.runTests}</button>
        {readOnly ? null : <button type="button" className="btn" disabled={run.isPending} onClick={() => onChange(withTest(content, "works", {}))}>{m.author.addTest}</button>}
        <span className="sub" role="status">{Object.keys(rows).length > 0 ? m.author.passed(passed, tests.length) : ""}</span>
        <span className="sp" />
        <label className="row sub"><input type="checkbox" checked={everything} onChange={(event) => setEverything(event.target.checked)} />{m.author.everything}</label>
      </div>
      <p className="hint">{readOnly ? m.author.httpTestsHint : m.author.testsHint}</p>
      {run.error ? <Failed error={run.error} /> : null}
      {notes.map((note) => <div key={note} className="note">{note}</div>)}
      {tests.length === 0 ? <div className="panel"><div className="empty"><b>{m.author.noTests}</b>{readOnly ? null : <span>{m.author.noTestsHint}</span>}</div></div> : (
        <div className="panel">{tests.map((test) => <Test key={test.name} test={test} row={rows[test.name]} busy={run.isPending} onRun={() => run.mutate({ tests: [test.name] })} onRecord={readOnly ? undefined : () => run.mutate({ tests: [test.name], record: true })} />)}</div>
      )}
    </div>
  );
}

function Test({ test, row, busy, onRun, onRecord }: { test: ReturnType<typeof testsOf>[number]; row?: Row; busy: boolean; onRun(): void; onRecord?(): void }) {
  return (
    <div className="line top testline">
      <span className={`st ${row === undefined ? "off" : row.status === "passed" ? "ok" : row.status === "failed" ? "bad" : "off"}`}><Icon name={row === undefined ? "dash" : row.status === "passed" ? "check" : row.status === "failed" ? "cross" : "dash"} size={14} />{row === undefined ? m.author.notRun : m.author.statuses[row.status] ?? row.status}</span>
      <div className="grow">
        <b className="slug">{test.name}</b> <span className="sub num">{row ? format.took(row.durationMs) : ""}</span>
        {Object.keys(test.parameters).length > 0 ? <div className="sub"><code>{Object.entries(test.parameters).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join("  ")}</code></div> : null}
        <div className="hint">{test.expects.length > 0 ? `${m.author.expects} ${test.expects.join(", ")}` : m.author.expectsNothing}</div>
        {row?.reason ? <div className="sub">{row.reason}</div> : null}
        {row?.mismatches.map((one, at) => <div key={at} className="msg"><code>{one.field}</code> {one.message}{one.diff ? <Diff text={one.diff} /> : null}</div>)}
        {row && row.status === "failed" && row.output ? <details><summary className="sub">{m.tool.output}</summary><pre className="out">{row.output}</pre></details> : null}
      </div>
      <button type="button" className="btn sm" disabled={busy} onClick={onRun}>{m.author.run}</button>
      {onRecord ? <button type="button" className="btn sm" disabled={busy} title={m.author.recordHint} onClick={onRecord}>{m.author.record}</button> : null}
    </div>
  );
}
