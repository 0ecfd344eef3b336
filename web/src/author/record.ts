// A call as a recorded test of its tool's file.

import type { QueryClient } from "@tanstack/react-query";
import { api, type Args, data } from "../api/client";
import { m } from "../messages";
import { fileOf, saveFile } from "./save";
import { testsOf, withTest } from "./TestsPane";

/** Adds a test with these arguments, records what it shows, and saves the file. Returns the test's name. */
export async function addRecorded(queries: QueryClient, scope: string, file: string, args: Args): Promise<string> {
  const before = await fileOf(scope, file);
  const added = withTest(before.content, m.author.testName, args);
  const name = testsOf(added).at(-1)!.name;
  const tested = await data(api.POST("/api/tests", { body: { file, content: added, tests: [name], record: true } }));
  await saveFile(queries, scope, file, tested.content ?? added, before.digest);
  return name;
}
