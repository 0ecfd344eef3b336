import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Tool } from "../api/client";
import { Failed, Loading } from "../components/basics";
import { m } from "../messages";
import "../styles/author.css";
import { fileOf, placeOfFile, saveFile } from "./save";
import { TestsPane } from "./TestsPane";

/** The tests of a tool that has a file; a test that is added or recorded is saved at once. */
export default function ToolTests({ tool, file }: { tool: Tool; file?: string | null }) {
  const queries = useQueryClient();
  const place = placeOfFile(tool, file);
  const isYaml = place?.file.endsWith(".yaml") ?? false;
  const text = useQuery({ queryKey: ["files", "text", place?.scope, place?.file], queryFn: () => fileOf(place!.scope, place!.file), enabled: isYaml });
  const save = useMutation({ mutationFn: (content: string) => saveFile(queries, place!.scope, place!.file, content, text.data!.digest) });
  if (!isYaml) return <div className="empty"><b>{m.author.noTestsFor}</b></div>;
  if (text.error) return <Failed error={text.error} retry={() => void text.refetch()} />;
  if (text.isPending) return <Loading />;
  return (
    <>
      {save.error ? <Failed error={save.error} /> : null}
      <TestsPane file={place!.file} content={text.data.content} onChange={(content) => save.mutate(content)} />
    </>
  );
}
