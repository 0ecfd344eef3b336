// A new bundle of the store, and what differs between one and an archive.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, data, headers } from "../api/client";
import { m } from "../messages";
import { Failed, say } from "./basics";
import { Dialog } from "./Dialog";
import { Diff } from "./Diff";

/** An id that sorts by the time it was made (UUID, version 7). */
export function timeId(now: number, random: Uint8Array): string {
  const hex = (bytes: Uint8Array | number[]) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const time = now.toString(16).padStart(12, "0");
  const rest = Uint8Array.from(random);
  rest[0] = (rest[0]! & 0x0f) | 0x70;
  rest[2] = (rest[2]! & 0x3f) | 0x80;
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex(rest.slice(0, 2))}-${hex(rest.slice(2, 4))}-${hex(rest.slice(4, 10))}`;
}

export function NewBundle({ open, onClose }: { open: boolean; onClose(): void }) {
  const queries = useQueryClient();
  const [slug, setSlug] = useState("");
  const [title, setTitle] = useState("");
  const make = useMutation({
    mutationFn: () => data(api.PUT("/tools/bundles/{bundleID}", { params: { path: { bundleID: timeId(Date.now(), crypto.getRandomValues(new Uint8Array(10))) } }, body: { slug, displayName: title || slug } as never })),
    onSuccess: () => { void queries.invalidateQueries({ queryKey: ["bundles"] }); say(m.bundles.made(slug)); close(); },
  });
  const close = () => { setSlug(""); setTitle(""); make.reset(); onClose(); };
  return (
    <Dialog open={open} onClose={close} title={m.bundles.new}>
      <form className="body stack" onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <div className="field"><label htmlFor="bundle-slug">{m.author.name}</label><input id="bundle-slug" className="in" spellCheck={false} value={slug} onChange={(event) => setSlug(event.target.value)} /></div>
        <div className="field"><label htmlFor="bundle-title">{m.bundles.title1}</label><input id="bundle-title" className="in" value={title} onChange={(event) => setTitle(event.target.value)} /></div>
        {make.error ? <Failed error={make.error} /> : null}
        <div className="row"><button type="submit" className="btn pri" disabled={slug === "" || make.isPending}>{m.bundles.make}</button><button type="button" className="btn" onClick={close}>{m.common.cancel}</button></div>
      </form>
    </Dialog>
  );
}

interface Compared { same: boolean; fields: { field: string; old?: unknown; new?: unknown }[]; tools: { slug: string; version: string; change: string; diff?: string | null }[] }

export function CompareArchive({ slug, onClose }: { slug: string | null; onClose(): void }) {
  const compare = useMutation({
    mutationFn: async (archive: File) => {
      const response = await fetch(`/api/bundles/${encodeURIComponent(slug!)}/diff`, { method: "POST", headers: { ...headers(), "content-type": "application/zip" }, body: archive });
      const body: unknown = await response.json().catch(() => null);
      if (!response.ok) throw new ApiError(response.status, body);
      return body as Compared;
    },
  });
  const close = () => { compare.reset(); onClose(); };
  return (
    <Dialog open={slug !== null} onClose={close} title={m.bundles.compareTitle(slug ?? "")}>
      <div className="body stack">
        <input type="file" accept=".zip,application/zip" aria-label={m.bundles.importPick} onChange={(event) => { const file = event.target.files?.[0]; if (file) compare.mutate(file); }} />
        {compare.error ? <Failed error={compare.error} /> : null}
        {compare.data ? (compare.data.same ? <p>{m.bundles.same}</p> : (
          <>
            {compare.data.fields.map((one) => <div key={one.field} className="sub"><code>{one.field}</code> {JSON.stringify(one.old)} → {JSON.stringify(one.new)}</div>)}
            {compare.data.tools.filter((tool) => tool.change !== "same").map((tool) => <div key={tool.slug + tool.version}><b className="slug">{tool.slug}</b> <span className="sub">{tool.version} · {tool.change}</span>{tool.diff ? <Diff text={tool.diff} /> : null}</div>)}
          </>
        )) : null}
      </div>
    </Dialog>
  );
}
