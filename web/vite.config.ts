import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { problemsOf } from "./src/messages/check.ts";
import { en } from "./src/messages/en.ts";
import { zh } from "./src/messages/zh.ts";

// For `npm run dev`: the server whose API the page uses.
const api = process.env.TOOLCRIB_URL ?? "http://127.0.0.1:7410";

/** Ends a build in which a text is missing. */
const messages = {
  name: "messages",
  apply: "build" as const,
  buildStart() {
    const folder = join(import.meta.dirname, "src");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".tsx"));
    const problems = problemsOf(en, { zh }, files.map((file) => readFileSync(join(folder, file), "utf8")));
    if (problems.length > 0) throw new Error(`messages: ${problems.join("; ")}`);
  },
};

export default defineConfig({
  base: "/ui/",
  plugins: [react(), messages],
  build: {
    target: "es2023",
    modulePreload: { polyfill: false },
    // The policy of the page allows no `data:` fonts, and every file is cached by its name.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": api, "/tools": api } },
  test: { include: ["src/**/*.test.ts"] },
});
