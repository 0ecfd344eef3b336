import { Command } from "../components/basics";
import { Mark } from "../components/icons";
import { m } from "../messages";

/** What a browser sees that is not signed in. */
export function Door({ refused }: { refused: string | null }) {
  return (
    <main className="door">
      <div className="row"><Mark /><h1>{m.door.title}</h1></div>
      {refused ? <div className="note bad" role="alert"><div><b>{m.door.refused}</b> {refused}</div></div> : null}
      <p>{m.door.text}</p>
      <Command text="toolcrib ui" />
      <p className="sub">{m.door.lasts}</p>
      <p className="sub">{m.door.print}</p>
      <Command text="toolcrib ui --print" />
    </main>
  );
}
