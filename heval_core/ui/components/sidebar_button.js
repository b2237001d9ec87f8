// The key "/" opens the form of Your prompt on every page; and a way past the navigation for the keyboard.

const BUTTONS = { open: "[data-testid=stExpandSidebarButton]", close: "[data-testid=stSidebarCollapseButton] button" };

function isOpen() {
  return document.querySelector("[data-testid=stSidebar]")?.dataset.collapsed === "false";
}

// Whether the reader has asked for the form on this page.
let asked = false;
function show() {
  asked = true;
  const slides = !isOpen();
  if (slides) document.querySelector(BUTTONS.open)?.click();
  // The form is drawn while the sidebar slides in; a field that somebody chose meanwhile keeps the keyboard.
  const enter = () => typing() || document.querySelector("[data-testid=stSidebar] textarea")?.focus();
  setTimeout(enter, slides ? 350 : 0);
}

// The sidebar and its button may come later than this script, and may be drawn once more; so it is seen to for a while.
function toward(wanted, tries = 14) {
  if (asked || !tries) return;
  if (isOpen() !== wanted) document.querySelector(wanted ? BUTTONS.open : BUTTONS.close)?.click();
  const there = document.querySelector(`${BUTTONS.open}, ${BUTTONS.close}`); // after a server's start it comes late
  setTimeout(() => toward(wanted, there ? tries - 1 : tries), 150);
}

// To the prompt where there is one, else to the page's title.
function skipToContent() {
  const main = document.querySelector("[data-testid=stMain]");
  const surface = [...main.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((one) => one.shadowRoot).find((root) => root?.querySelector(".t"));
  const target = surface?.querySelector(".t[tabindex='0']") ?? main.querySelector("h1");
  if (target && !surface) target.tabIndex = -1;
  target?.focus();
}

// Streamlit hears of a text when it is left, or at Ctrl+Enter: so that tokens are counted while one types, a pause says it.
const PAUSE = 600;
let pause = 0;
function typed(event) {
  if (!event.target.closest?.("[data-testid=stSidebar], .st-key-own_pasted") || event.target.tagName !== "TEXTAREA") return;
  clearTimeout(pause);
  const said = new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true });
  pause = setTimeout(() => event.target.isConnected && event.target.dispatchEvent(said), PAUSE);
}

export default function (component) {
  const { data, parentElement } = component;
  const host = parentElement.querySelector(".host");
  if (!host.firstChild) host.replaceChildren(button("skip", "Skip to the prompt", null, skipToContent));
  // The form belongs to its own page: it is open there, and closed on all others until it is asked for.
  if (data.own !== host.own) { asked = false; toward(data.own); }
  host.own = data.own;
  const pressed = (event) => {
    // Streamlit hears of the text first, then the form's button is pressed.
    if (event.isTrusted && event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest?.("[data-testid=stSidebar]")) setTimeout(() => document.querySelector(".st-key-own_send button")?.click(), 400);
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing()) return;
    event.preventDefault();
    show();
  };
  document.addEventListener("keydown", pressed);
  document.addEventListener("input", typed);
  return () => {
    document.removeEventListener("keydown", pressed);
    document.removeEventListener("input", typed);
  };
}
