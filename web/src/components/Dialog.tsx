import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { m } from "../messages";

/** A dialog with a title; Esc and the backdrop close it. */
export function Dialog(props: { open: boolean; onClose(): void; title: string; hideTitle?: boolean; className?: string; children: ReactNode }) {
  return (
    <Base.Root open={props.open} onOpenChange={(open) => !open && props.onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={`dialog ${props.className ?? ""}`}>
          {props.hideTitle ? <Base.Title className="vh">{props.title}</Base.Title> : (
            <div className="row pad">
              <Base.Title>{props.title}</Base.Title><span className="sp" />
              <Base.Close className="btn ghost sm">{m.common.close}</Base.Close>
            </div>
          )}
          {props.children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** Asks before something that cannot be undone at once. */
export function Confirm(props: { open: boolean; title: string; text: string; yes: string; danger?: boolean; onClose(): void; onYes(): void }) {
  return (
    <Dialog open={props.open} onClose={props.onClose} title={props.title}>
      <div className="body stack">
        <p>{props.text}</p>
        <div className="row">
          <button type="button" className={props.danger ? "btn bad" : "btn pri"} onClick={() => { props.onYes(); props.onClose(); }}>{props.yes}</button>
          <button type="button" className="btn" onClick={props.onClose}>{m.common.cancel}</button>
        </div>
      </div>
    </Dialog>
  );
}
