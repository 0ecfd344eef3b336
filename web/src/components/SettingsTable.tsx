// Every setting with its value, where that comes from, and what it does. Where the home's file decides, it is changed here.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Json, type Schemas } from "../api/client";
import { m } from "../messages";
import { Failed, Loading, Pane, say, Words } from "./basics";
import { Icon } from "./icons";

type Row = Schemas["SettingRow"];

const shown = (value: unknown) => (value === null || value === undefined ? m.settings.unset : Array.isArray(value) ? (value.length === 0 ? "[]" : value.join(", ")) : String(value));
/** A value as it is typed. */
const typed = (value: Json | undefined) => (value === null || value === undefined ? "" : Array.isArray(value) ? value.join("\n") : String(value));

export function SettingsTable() {
  const list = useQuery({ queryKey: ["settings"], queryFn: () => data(api.GET("/api/settings")).then((page) => page.settings) });
  const [words, setWords] = useState("");
  const [changed, setChanged] = useState(false);
  if (list.error) return <Failed error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const asked = words.trim().toLowerCase();
  const rows = list.data.filter((row) => (asked === "" || row.key.toLowerCase().includes(asked) || row.effect.toLowerCase().includes(asked)) && (!changed || row.origin !== "default" || row.saved !== undefined));
  return (
    <div className="stack">
      <div className="row wrap"><label className="seek"><Icon name="search" /><span className="vh">{m.settings.find}</span><input type="search" value={words} placeholder={m.settings.find} onChange={(event) => setWords(event.target.value)} /></label>
        <button type="button" className="chip" aria-pressed={changed} onClick={() => setChanged(!changed)}>{m.settings.onlyChanged}</button></div>
      {rows.length === 0 ? <p className="sub">{m.settings.noneFound}</p> : <div className="panel">{rows.map((row) => <Pane key={row.key} name={row.key}><Setting row={row} /></Pane>)}</div>}
    </div>
  );
}

function Setting({ row }: { row: Row }) {
  const queries = useQueryClient();
  const [edits, setEdits] = useState(false);
  const [text, setText] = useState("");
  const change = useMutation({
    mutationFn: (words: string[] | null) => data(api.PATCH("/api/settings/{key}", { params: { path: { key: row.key } }, body: { words } })),
    onSuccess: () => { setEdits(false); say(m.settings.restart); },
    onSettled: () => queries.invalidateQueries({ queryKey: ["settings"] }),
  });
  const origin = row.origin === "environment" ? row.variable : row.origin;
  const id = `setting-${row.key.replaceAll(".", "-")}`;
  return (
    <div className="line top">
      <div className="grow">
        <div className="row wrap"><code><b>{row.key}</b></code><span className="mono sub">{shown(row.value)}</span><span className="sub">· {m.settings.origins[origin] ?? origin}</span>{row.restart ? <span className="st wait"><Icon name="clock" size={14} />{m.settings.next} {shown(row.saved ?? row.default)}</span> : null}</div>
        <div className="hint"><Words text={row.effect} /> {m.settings.holds} {row.holds}. {m.settings.default} {shown(row.default)}.</div>
        {edits ? (
          <form className="stack gap" onSubmit={(event) => { event.preventDefault(); change.mutate(row.isList ? (text.trim() === "" ? ["[]"] : text.split("\n").map((line) => line.trim()).filter(Boolean)) : [text]); }}>
            <label className="vh" htmlFor={id}>{row.key}</label>
            {row.isList ? <textarea id={id} className="in" rows={3} value={text} onChange={(event) => setText(event.target.value)} /> : <input id={id} className="in" value={text} onChange={(event) => setText(event.target.value)} />}
            {row.isList ? <p className="hint">{m.settings.onePerLine}</p> : null}
            {change.error ? <p className="msg" role="alert"><Words text={change.error.message} /></p> : null}
            <div className="row"><button type="submit" className="btn pri sm" disabled={change.isPending}>{m.author.save}</button>{row.saved !== undefined ? <button type="button" className="btn sm" onClick={() => change.mutate(null)}>{m.settings.toDefault}</button> : null}<button type="button" className="btn sm" onClick={() => setEdits(false)}>{m.common.cancel}</button></div>
          </form>
        ) : null}
      </div>
      {edits ? null : <button type="button" className="btn sm" aria-label={`${m.author.edit}: ${row.key}`} disabled={!row.homeDecides} title={row.homeDecides ? undefined : m.settings.decidedBy(m.settings.origins[row.origin] ?? row.origin)} onClick={() => { setText(typed((row.saved ?? row.value) as Json)); change.reset(); setEdits(true); }}>{m.author.edit}</button>}
    </div>
  );
}
