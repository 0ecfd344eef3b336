// A tab that was open while the server was replaced asks for a part of the page that is gone. The page is loaded again, once: what is gone
// for another reason is said where it is missing.

const RELOADED = "toolcrib.reloaded";
const APART = 30_000;

export function reloadOnce() {
  addEventListener("vite:preloadError", (event) => {
    const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
    if (Date.now() - last < APART) return;
    event.preventDefault();
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  });
}
