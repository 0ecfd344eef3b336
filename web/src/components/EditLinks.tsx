// How a tool is changed: its file, a new version of its record, or a copy.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Tool } from "../api/client";
import { fileOf, placeOfFile } from "../author/save";
import { m } from "../messages";
import { Failed } from "./basics";

export function EditLinks({ tool, file }: { tool: Tool; file?: string | null }) {
  const place = placeOfFile(tool, file);
  const reference = encodeURIComponent(`${tool.bundle}/${tool.slug}@${tool.version}`);
  if (place) {
    return <><Link className="btn" href={`/author/${place.scope}/${encodeURIComponent(place.file)}`}>{m.author.edit}</Link><Link className="btn" href={`/author?from=${reference}`}>{m.author.copy}</Link></>;
  }
  if (tool.source === "store") return <Link className="btn" href={`/version/${encodeURIComponent(tool.bundle)}/${encodeURIComponent(tool.slug)}/${encodeURIComponent(tool.version)}`}>{m.author.edit}</Link>;
  return <Link className="btn" href={`/author?from=${reference}`}>{m.author.duplicate}</Link>;
}

/** The file of a tool as its author wrote it. */
export function FileText({ tool, file }: { tool: Tool; file?: string | null }) {
  const place = placeOfFile(tool, file);
  const text = useQuery({ queryKey: ["files", "shown", place?.scope, place?.file], queryFn: () => fileOf(place!.scope, place!.file), enabled: place !== null, retry: false });
  if (!place) return null;
  return (
    <>
      <div className="bar tight"><h2>{m.tool.fileText}</h2><span className="sp" /><Link className="btn sm" href={`/author/${place.scope}/${encodeURIComponent(place.file)}`}>{m.author.edit}</Link></div>
      {text.error ? <Failed error={text.error} /> : text.data ? <div className="panel"><pre className="out" tabIndex={0}>{text.data.content}</pre></div> : null}
    </>
  );
}
