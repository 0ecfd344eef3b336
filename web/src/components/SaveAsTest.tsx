// A call becomes a test of the tool: its arguments, and what two runs in the sandbox show.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Args } from "../api/client";
import { reason } from "../api/client";
import { fileOf, placeOfFile } from "../author/save";
import { m } from "../messages";
import { say } from "./basics";

type Place = { bundle: string; slug: string; version: string; source: string };

/** The tests of a tool's file; none where it has no file. The reader of YAML is loaded only if there is one. */
export function useTests(tool: Place, file?: string | null): { name: string; parameters: unknown }[] {
  const place = placeOfFile(tool, file);
  const tests = useQuery({
    queryKey: ["files", "tests", place?.scope, place?.file],
    enabled: place?.file.endsWith(".yaml") ?? false,
    retry: false,
    queryFn: async () => {
      const [{ testsOf }, text] = await Promise.all([import("../author/TestsPane"), fileOf(place!.scope, place!.file)]);
      return testsOf(text.content);
    },
  });
  return tests.data ?? [];
}

export function SaveAsTest({ tool, file, args, blocked }: { tool: Place; file?: string | null; args: Args; blocked: string | null }) {
  const queries = useQueryClient();
  const place = placeOfFile(tool, file);
  const save = useMutation({
    mutationFn: async () => {
      const { addRecorded } = await import("../author/record");
      return addRecorded(queries, place!.scope, place!.file, args);
    },
    onSuccess: (name) => say(m.author.savedTest(name)),
    onError: (error) => say(reason(error)),
  });
  const why = !place?.file.endsWith(".yaml") ? m.author.noTestsFor : blocked;
  return <button type="button" className="btn ghost" aria-disabled={why !== null || save.isPending} title={why ?? undefined} onClick={() => { if (why === null && !save.isPending) save.mutate(); }}>{m.author.saveAsTest}</button>;
}
