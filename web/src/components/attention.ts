// How a waiting call is told to a person who looks elsewhere: title, icon, and a notification if the person allowed it. Nothing takes focus.

import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import type { Approval } from "../api/client";
import { format, m } from "../messages";

const icon = (dot: boolean) => `data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#c98f1e' stroke-width='2'><circle cx='12' cy='12' r='10'/><path d='M8 10.5h8M8 14.5h8'/>${dot ? "<circle cx='18' cy='6' r='5' fill='#9c2a24' stroke='none'/>" : ""}</svg>`)}`;

export function useAttention(waiting: Pick<Approval, "id" | "tool">[] | undefined) {
  // By their ids: one may be answered in the moment in which another comes.
  const seen = useRef(new Set<string>());
  const [, navigate] = useLocation();
  useEffect(() => {
    if (!waiting) return;
    document.title = waiting.length > 0 ? `(${format.number(waiting.length)}) Toolcrib` : "Toolcrib";
    const link = document.getElementById("favicon") as HTMLLinkElement | null;
    if (link) link.href = icon(waiting.length > 0);
    const fresh = waiting.filter((one) => !seen.current.has(one.id));
    seen.current = new Set(waiting.map((one) => one.id));
    const first = fresh[0];
    if (!first || !document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
    const told = new Notification("Toolcrib", { body: fresh.length === 1 ? m.approvals.arrived(first.tool) : m.approvals.arrivedMany(fresh.length), tag: `toolcrib-${first.id}` });
    told.onclick = () => {
      window.focus();
      navigate(`/approvals/${first.id}`);
      told.close();
    };
  }, [waiting]);
}
