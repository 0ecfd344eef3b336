import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/pages.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { Router } from "wouter";
import { ApiError } from "./api/client";
import { signInByLink } from "./api/session";
import { App } from "./App";
import { Pane } from "./components/basics";
import { loadMessages } from "./messages";
import { reloadOnce } from "./reload";
import { applyTheme } from "./theme";

applyTheme();
reloadOnce();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      retryDelay: 400,
    },
  },
});

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content;
const [refused] = await Promise.all([signInByLink(), loadMessages()]);

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <CSPProvider nonce={nonce}>
      <QueryClientProvider client={queries}>
        <Router base="/ui">
          <Pane name="root"><App refused={refused} /></Pane>
        </Router>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
