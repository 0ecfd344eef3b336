import { useQuery } from "@tanstack/react-query";
import { api, data } from "../api/client";
import { everyPage } from "../api/queries";
import { Ago, Command, Failed, Loading } from "../components/basics";
import { m } from "../messages";

export default function Secrets() {
  const list = useQuery({ queryKey: ["secrets"], queryFn: () => everyPage((page) => data(api.GET("/api/secrets", { params: { query: page } })), (page) => page.secrets) });
  return (
    <>
      <div className="bar"><h1>{m.secrets.title}</h1></div>
      <div className="stack"><p className="sub">{m.secrets.hint}</p><Command text="toolcrib secret set NAME --host api.example.com" /></div>
      <div className="above">
        {list.error ? <Failed error={list.error} retry={() => void list.refetch()} /> : list.isPending ? <Loading /> : list.data.length === 0 ? <div className="panel"><div className="empty">{m.secrets.none}</div></div> : (
          <div className="panel scroll"><table><thead><tr><th>{m.secrets.name}</th><th>{m.secrets.hosts}</th><th>{m.secrets.bundles}</th><th>{m.secrets.changed}</th></tr></thead><tbody>{list.data.map((one) => <tr key={one.name}><td><code>{one.name}</code></td><td>{one.hosts.join(", ") || m.secrets.anyHost}</td><td>{one.bundles.join(", ")}</td><td><Ago at={one.modifiedAt} /></td></tr>)}</tbody></table></div>
        )}
      </div>
    </>
  );
}
