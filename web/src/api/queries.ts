// What the pages ask, each question under one key, so that the live stream can mark it as old.

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, data, placeOf } from "./client";

const MAX_PAGE = 500;

/** Every item of a list, page by page: what is counted and what can be found has no silent end. */
export async function everyPage<Page extends { nextPageToken?: string | null }, Row>(ask: (page: { pageSize: number; pageToken?: string }) => Promise<Page>, rows: (page: Page) => Row[]): Promise<Row[]> {
  const all: Row[] = [];
  let pageToken: string | undefined;
  do {
    const page = await ask({ pageSize: MAX_PAGE, pageToken });
    all.push(...rows(page));
    pageToken = page.nextPageToken || undefined;
  } while (pageToken !== undefined);
  return all;
}

export const useServer = () => useQuery({ queryKey: ["server"], queryFn: () => data(api.GET("/api/server")), staleTime: Infinity });

export const useTools = () => useQuery({ queryKey: ["tools"], queryFn: ({ signal }) => data(api.GET("/api/tools", { params: { query: { all: true, tokens: true } }, signal })) });

/** The server's ranking of the tools that match some words, the best page first or page by page to the end; `null` without words. */
export function useSearch(words: string, all = false) {
  const found = useInfiniteQuery({
    queryKey: ["tools", "search", words, all],
    enabled: words !== "",
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => data(api.GET("/tools/search", { params: { query: { q: words, includeDisabled: true, pageSize: all ? 500 : 50, pageToken: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.nextPageToken || undefined,
    placeholderData: keepPreviousData,
  });
  const hasMore = all && found.hasNextPage && !found.isFetchingNextPage && !found.isError && !found.isPlaceholderData;
  useEffect(() => { if (hasMore) void found.fetchNextPage(); }, [hasMore]);
  const hits = useMemo(() => (words === "" ? null : (found.data?.pages.flatMap((page) => page.results) ?? undefined)), [words, found.data]);
  return { ...found, data: hits };
}

export const useTool = (place: { bundle: string; slug: string; version: string }) => useQuery({
  queryKey: ["tool", place.bundle, place.slug, place.version],
  queryFn: ({ signal }) => data(api.GET("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(place) }, signal })),
});

export const useBundles = () => useQuery({ queryKey: ["bundles"], queryFn: ({ signal }) => everyPage((page) => data(api.GET("/tools/bundles", { params: { query: { includeDisabled: true, ...page } }, signal })), (page) => page.bundles) });

/** Figures of the last hours, or of all time. */
export const useStats = (hours: number | null) => useQuery({
  queryKey: ["stats", hours],
  queryFn: ({ signal }) => {
    const since = hours === null ? undefined : new Date(Math.floor(Date.now() / 60_000) * 60_000 - hours * 3_600_000).toISOString();
    return data(api.GET("/api/stats", { params: { query: { since } }, signal }));
  },
  placeholderData: keepPreviousData,
});

export const useWaiting = () => useQuery({
  queryKey: ["approvals", "pending"],
  queryFn: ({ signal }) => everyPage((page) => data(api.GET("/api/approvals", { params: { query: { status: "pending", ...page } }, signal })), (page) => page.approvals),
  refetchInterval: 30_000,
});

export const useClients = () => useQuery({ queryKey: ["clients"], queryFn: ({ signal }) => everyPage((page) => data(api.GET("/api/clients", { params: { query: page }, signal })), (page) => page.clients) });
