// The frame of every page: the rail, the live stream, the palette and the keys.

import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { follow, useConnection } from "./api/live";
import { useClients, useBundles, useServer, useTools, useWaiting } from "./api/queries";
import { session } from "./api/session";
import { Loading, Pane, Toasts, useKey } from "./components/basics";
import { Dialog } from "./components/Dialog";
import { Icon, type IconName, Mark } from "./components/icons";
import { Palette } from "./components/Palette";
import { useAttention } from "./components/attention";
import { m } from "./messages";
import { Door } from "./pages/Door";
import { Tools } from "./pages/Tools";

const New = lazy(() => import("./pages/New"));
const Author = lazy(() => import("./pages/Author"));
const NewVersion = lazy(() => import("./pages/NewVersion"));
const Tool = lazy(() => import("./pages/Tool"));
const Approvals = lazy(() => import("./pages/Approvals"));
const Calls = lazy(() => import("./pages/Calls"));
const Bundles = lazy(() => import("./pages/Bundles"));
const Metrics = lazy(() => import("./pages/Metrics"));
const Clients = lazy(() => import("./pages/Clients"));
const Secrets = lazy(() => import("./pages/Secrets"));
const Settings = lazy(() => import("./pages/Settings"));

export function App({ refused }: { refused: string | null }) {
  const key = useSyncExternalStore(session.subscribe, session.key);
  return (
    <>
      <Pane name={key ?? ""}>{key === null ? <Door refused={refused} /> : <Frame />}</Pane>
      <Toasts />
    </>
  );
}

function Frame() {
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    void follow(queries, stop.signal);
    return () => stop.abort();
  }, [queries]);
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const [location, navigate] = useLocation();
  useKey((event) => event.key === "+" || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)), (event) => { event.preventDefault(); setPalette(true); });
  useKey((event) => event.key === "?", () => setKeys(true));
  const [went, setWent] = useState(0);
  useKey((event) => event.key === "g" && !event.ctrlKey && !event.metaKey, () => setWent(Date.now()));
  useKey((event) => Date.now() - went < 1200 && ["t", "a", "c"].includes(event.key), (event) => navigate({ t: "/tools", a: "/approvals", c: "/calls" }[event.key]!));
  return (
    <div className="app">
      <a className="skip" href="#content">{m.nav.skip}</a>
      <Pane name="rail"><Rail onInvoke={() => setPalette(true)} /></Pane>
      <main id="content" tabIndex={-1}>
        <Pane name="lost"><LostNote /></Pane>
        <Pane name={location}>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/"><Redirect to="/tools" replace /></Route>
              <Route path="/tools" component={Tools} />
              <Route path="/tools/:bundle/:slug/:version" component={Tool} />
              <Route path="/author" component={New} />
              <Route path="/author/:scope/:file" component={Author} />
              <Route path="/version/:bundle/:slug/:version" component={NewVersion} />
              <Route path="/approvals" component={Approvals} />
              <Route path="/approvals/:id" component={Approvals} />
              <Route path="/calls" component={Calls} />
              <Route path="/calls/:id" component={Calls} />
              <Route path="/bundles" component={Bundles} />
              <Route path="/metrics" component={Metrics} />
              <Route path="/clients" component={Clients} />
              <Route path="/secrets" component={Secrets} />
              <Route path="/settings" component={Settings} />
              <Route><div className="empty"><h1>{m.common.notFound}</h1><Link href="/tools">{m.common.toTools}</Link></div></Route>
            </Switch>
          </Suspense>
        </Pane>
      </main>
      <Palette open={palette} onClose={() => setPalette(false)} />
      <Dialog open={keys} onClose={() => setKeys(false)} title={m.keys.title}>
        <div className="body"><table><tbody>{m.keys.list.map(([key, what]) => <tr key={key}><td><kbd>{key}</kbd></td><td>{what}</td></tr>)}</tbody></table></div>
      </Dialog>
    </div>
  );
}

function LostNote() {
  const connection = useConnection();
  if (connection !== "lost") return null;
  return <div className="note bad" role="alert"><Icon name="warn" /><div><b>{m.live.lost}.</b> {m.live.lostNote}</div></div>;
}

function Rail({ onInvoke }: { onInvoke(): void }) {
  const [location] = useLocation();
  const connection = useConnection();
  const tools = useTools().data?.tools;
  const bundles = useBundles().data;
  const clients = useClients().data;
  const server = useServer().data;
  const asked = useWaiting().data;
  const waiting = asked?.length ?? 0;
  useAttention(asked);
  const items: [string, IconName, string, number | undefined][] = [
    ["/tools", "tools", m.nav.tools, tools?.length],
    ["/approvals", "approvals", m.nav.approvals, waiting],
    ["/calls", "calls", m.nav.calls, undefined],
    ["/bundles", "bundles", m.nav.bundles, bundles?.length],
    ["/metrics", "metrics", m.nav.metrics, undefined],
    ["/clients", "clients", m.nav.clients, clients?.length],
    ["/secrets", "secrets", m.nav.secrets, undefined],
    ["/settings", "settings", m.nav.settings, undefined],
  ];
  return (
    <header className="rail">
      <Link className="brand" href="/tools"><Mark />Toolcrib</Link>
      <button type="button" className="btn invoke" onClick={onInvoke}><Icon name="plus" /><span>{m.palette.title}</span><kbd>Ctrl K</kbd></button>
      <nav aria-label={m.nav.pages}>
        {items.map(([path, icon, name, count]) => (
          <Link key={path} href={path} aria-current={location === path || location.startsWith(`${path}/`) || (path === "/tools" && /^\/(author|version)(\/|$)/.test(location)) ? "page" : undefined}>
            <Icon name={icon} />{name}
            {count ? <span className={`n num${path === "/approvals" ? " hot" : ""}`}>{count}</span> : null}
          </Link>
        ))}
      </nav>
      <div className="foot">
        <div className="live"><span className={`dot ${connection}`} />{m.live[connection]}</div>
        <div>{window.location.host}</div>
        {server?.workspace ? <div title={server.workspace}>{m.live.workspace}: {server.workspace.split("/").slice(-2).join("/")}</div> : null}
      </div>
    </header>
  );
}
