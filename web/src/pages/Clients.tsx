import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, reason } from "../api/client";
import { useClients } from "../api/queries";
import { Ago, Command, Failed, Loading, Pretty, say } from "../components/basics";
import { Confirm } from "../components/Dialog";
import { m } from "../messages";

/** The programs whose settings `toolcrib connect` writes, by their names there; `generic` needs a file. A test compares them with its help. */
const PROGRAMS = ["claude-code", "claude-desktop", "cursor", "vscode", "lm-studio", "codex", "gemini", "zed", "windsurf", "cline", "roo", "opencode", "goose", "jetbrains", "copilot-cli"];

export default function Clients() {
  const queries = useQueryClient();
  const list = useClients();
  const [name, setName] = useState("");
  const [removes, setRemoves] = useState<string | null>(null);
  const old = () => queries.invalidateQueries({ queryKey: ["clients"] });
  const add = useMutation({ mutationFn: () => data(api.POST("/api/clients", { body: { name } })), onSuccess: () => setName(""), onSettled: old });
  const remove = useMutation({ mutationFn: (gone: string) => data(api.DELETE("/api/clients/{name}", { params: { path: { name: gone } } })), onError: (error) => say(reason(error)), onSettled: old });
  return (
    <>
      <div className="bar wrap"><h1>{m.clients.title}</h1><span className="sub">{m.clients.hint}</span></div>
      <form className="row wrap" onSubmit={(event) => { event.preventDefault(); add.mutate(); }}>
        <input className="in short" aria-label={m.clients.name} placeholder={m.clients.name} value={name} onChange={(event) => setName(event.target.value)} />
        <button type="submit" className="btn pri" disabled={name === "" || add.isPending}>{m.clients.add}</button>
      </form>
      {add.error ? <div className="above"><Failed error={add.error} /></div> : null}
      {add.data ? <div className="note above"><div className="grow"><b>{add.data.name}.</b> {m.clients.token}<Command text={add.data.token} /></div></div> : null}
      <div className="above">
        {list.error ? <Failed error={list.error} retry={() => void list.refetch()} /> : list.isPending ? <Loading /> : list.data.length === 0 ? <div className="panel"><div className="empty">{m.clients.none}</div></div> : (
          <div className="panel">{list.data.map((one) => <div key={one.name} className="line"><div className="grow"><b className="slug">{one.name}</b> <span className="sub">{m.clients.since} <Ago at={one.createdAt} />{one.elicitation ? ` · ${m.clients.elicits}` : ""}</span></div><button type="button" className="btn sm bad" onClick={() => setRemoves(one.name)}>{m.clients.remove}</button></div>)}</div>
        )}
      </div>
      <section className="above stack">
        <h2>{m.clients.setup}</h2><p className="sub">{m.clients.setupHint}</p>
        <div className="grid2">{PROGRAMS.map((program) => <Command key={program} text={`toolcrib connect ${program}`} />)}<Command text="toolcrib connect generic --file mcp.json" /></div>
        <h2>{m.clients.mcp}</h2>
        <div className="panel"><Pretty value={{ mcpServers: { toolcrib: { type: "http", url: `${window.location.origin}/mcp`, headers: { Authorization: `Bearer ${add.data?.token ?? "TOKEN"}` } } } }} /></div>
      </section>
      <Confirm open={removes !== null} danger title={m.clients.removeAsk(removes ?? "")} text={m.clients.removeText} yes={m.clients.remove} onClose={() => setRemoves(null)} onYes={() => removes && remove.mutate(removes)} />
    </>
  );
}
