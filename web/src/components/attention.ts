// How a waiting call is told to a person who looks elsewhere: title, icon, and a notification if the person allowed it. Nothing takes focus.

import { useEffect, useRef } from "react";
import { m } from "../messages";

const icon = (dot: boolean) => `data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#c98f1e' stroke-width='2'><circle cx='12' cy='12' r='10'/><path d='M8 10.5h8M8 14.5h8'/>${dot ? "<circle cx='18' cy='6' r='5' fill='#9c2a24' stroke='none'/>" : ""}</svg>`)}`;

export function useAttention(waiting: number) {
  const before = useRef(waiting);
  useEffect(() => {
    document.title = waiting > 0 ? `(${waiting}) Toolcrib` : "Toolcrib";
    const link = document.getElementById("favicon") as HTMLLinkElement | null;
    if (link) link.href = icon(waiting > 0);
    if (waiting > before.current && document.hidden && "Notification" in window && Notification.permission === "granted") {
      new Notification("Toolcrib", { body: m.approvals.arrived(waiting), tag: "toolcrib-approvals" });
    }
    before.current = waiting;
  }, [waiting]);
}
