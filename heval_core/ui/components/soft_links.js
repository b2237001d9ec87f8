// Links of our own HTML to other pages of the explorer: like Streamlit's own, without loading everything again.
function follow(event) {
  // The first on the way of the click, which may begin inside a component.
  const link = event.composedPath().find((one) => one.matches?.("a.soft"));
  const elsewhere = event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || event.defaultPrevented) return;
  event.preventDefault();
  go(link.href.baseVal ?? link.href);
}

function go(address) {
  history.pushState({}, "", address);
  window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  window.scrollTo(0, 0);
}

export default function ({ data, parentElement }) {
  const host = parentElement.querySelector(".host");
  // Drawn anew while its page is still running, it goes only once.
  if (data.go && host.gone !== data.go) setTimeout(() => go(data.go), 0);
  host.gone = data.go;
  document.addEventListener("click", follow);
  return () => document.removeEventListener("click", follow);
}
