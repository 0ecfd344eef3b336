import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// For `npm run dev`: the server whose API the page uses.
const api = process.env.TOOLCRIB_URL ?? "http://127.0.0.1:7410";

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
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
