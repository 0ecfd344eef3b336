import { expect, test, vi } from "vitest";

vi.stubGlobal("location", { origin: "http://127.0.0.1:1" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("addEventListener", () => {});
vi.stubGlobal("navigator", { language: "en" });
const { everyPage } = await import("./queries");

test("a list is read to its end, each page behind the one before", async () => {
  const pages: Record<string, { rows: number[]; nextPageToken?: string | null }> = { "": { rows: [1, 2], nextPageToken: "a" }, a: { rows: [], nextPageToken: "b" }, b: { rows: [3], nextPageToken: null } };
  const asked: (string | undefined)[] = [];
  const ask = ({ pageToken }: { pageToken?: string }) => {
    asked.push(pageToken);
    return Promise.resolve(pages[pageToken ?? ""]!);
  };
  expect(await everyPage(ask, (page) => page.rows)).toEqual([1, 2, 3]);
  expect(asked).toEqual([undefined, "a", "b"]);
});
