import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, reason } from "../api/client";
import { useServer } from "../api/queries";
import { session } from "../api/session";
import { Ago, Failed, Pane, say, Segments } from "../components/basics";
import { SettingsTable } from "../components/SettingsTable";
import { chooseLanguage, format, language, type Language, m } from "../messages";
import { applyTheme, chosenTheme, type Theme } from "../theme";

export default function Settings() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const server = useServer();
  const queries = useQueryClient();
  const browsers = useQuery({ queryKey: ["browsers"], queryFn: () => data(api.GET("/api/browsers")).then((page) => page.browsers) });
  const rules = useQuery({ queryKey: ["rules"], queryFn: () => data(api.GET("/api/rules")) });
  const signOut = useMutation({
    mutationFn: ({ id }: { id: string; current: boolean }) => data(api.DELETE("/api/browsers/{id}", { params: { path: { id } } })),
    onSuccess: (_, { current }) => { if (current) session.set(null); },
    onError: (error) => say(reason(error)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["browsers"] }),
  });
  return (
    <div className="stack">
      <div className="bar"><h1>{m.settings.title}</h1></div>
      <h2>{m.settings.browser}</h2>
      <div className="row wrap"><span className="sub">{m.settings.theme}</span><Segments label={m.settings.theme} value={theme} choices={[["system", m.settings.system], ["light", m.settings.light], ["dark", m.settings.dark]]} onChange={(next) => { applyTheme(next); setTheme(next); }} />
        <span className="sub">{m.settings.language}</span><Segments<Language> label={m.settings.language} value={language} choices={[["en", "English"], ["zh", "简体中文"]]} onChange={chooseLanguage} /></div>
      <h2>{m.settings.browsers}</h2>
      {browsers.error ? <Failed error={browsers.error} /> : <div className="panel">{browsers.data?.map((one) => <div key={one.id} className="line"><div className="grow"><Ago at={one.createdAt} /> <span className="sub">{one.current ? m.settings.this : ""} · {m.settings.until} {format.day(one.expiresAt)}</span></div><button type="button" className="btn sm" onClick={() => signOut.mutate(one)}>{m.settings.signOut}</button></div>)}</div>}
      <h2>{m.settings.server}</h2>
      {server.data ? <dl className="dl"><dt>{m.settings.version}</dt><dd>{server.data.version}</dd><dt>{m.settings.home}</dt><dd><code>{server.data.home}</code></dd><dt>{m.settings.workspace}</dt><dd><code>{server.data.workspace ?? m.settings.noWorkspace}</code></dd></dl> : null}
      <p><a href="/api/docs">{m.settings.docs}</a></p>
      <h2>{m.settings.all}</h2>
      <Pane name="settings"><SettingsTable /></Pane>
      <h2>{m.settings.rules}</h2>
      {rules.error ? <Failed error={rules.error} /> : <div className="panel scroll"><table><thead><tr><th>{m.settings.rule}</th><th>{m.settings.verdict}</th><th>{m.settings.reason}</th><th>{m.settings.origin}</th></tr></thead><tbody>{rules.data?.rules.map((rule) => <tr key={rule.name}><td><code>{rule.name}</code></td><td>{rule.verdict}</td><td>{rule.reason}</td><td className="sub">{rule.origin}</td></tr>)}</tbody></table></div>}
    </div>
  );
}
