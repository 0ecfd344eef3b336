// What the pages ask, each question under one key, so that the live stream can mark it as old.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, data, placeOf } from "./client";

export const useServer = () => useQuery({ queryKey: ["server"], queryFn: () => data(api.GET("/api/server")), staleTime: Infinity });

export const useTools = () => useQuery({ queryKey: ["tools"], queryFn: ({ signal }) => data(api.GET("/api/tools", { params: { query: { all: true, tokens: true } }, signal })) });

/** The server's ranking of the tools that match some words; `null` without words. */
export const useSearch = (words: string) => useQuery({
  queryKey: ["tools", "search", words],
  queryFn: async ({ signal }) => {
    if (words === "") return null;
    const page = await data(api.GET("/tools/search", { params: { query: { q: words, includeDisabled: true, pageSize: 500 } }, signal }));
    return page.results;
  },
  placeholderData: keepPreviousData,
});

export const useTool = (place: { bundle: string; slug: string; version: string }) => useQuery({
  queryKey: ["tool", place.bundle, place.slug, place.version],
  queryFn: ({ signal }) => data(api.GET("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(place) }, signal })),
});

export const useBundles = () => useQuery({ queryKey: ["bundles"], queryFn: ({ signal }) => data(api.GET("/tools/bundles", { params: { query: { includeDisabled: true, pageSize: 500 } }, signal })).then((page) => page.bundles) });

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
  queryFn: ({ signal }) => data(api.GET("/api/approvals", { params: { query: { status: "pending", pageSize: 200 } }, signal })).then((page) => page.approvals),
  refetchInterval: 30_000,
});

export const useClients = () => useQuery({ queryKey: ["clients"], queryFn: ({ signal }) => data(api.GET("/api/clients", { params: { query: { pageSize: 500 } }, signal })).then((page) => page.clients) });
