// A link as text, and a button that copies it.

export default function (component) {
  const { data, parentElement } = component, host = parentElement.querySelector(".host");
  // The address is the view; what is added makes it say the same tomorrow and elsewhere.
  const link = new URL(location.href);
  for (const [name, value] of Object.entries(data.more)) link.searchParams.set(name, value);
  const text = having(element("textarea", "", link.href), { readonly: "", rows: 3, "aria-label": "Link to this view" });
  const said = having(element("span"), { role: "status" });
  const copy = button("", "Copy", null, async () => {
    text.select();
    // Browsers give the clipboard to localhost and to https only.
    try { await navigator.clipboard.writeText(link.href); said.textContent = "Copied."; }
    catch { said.textContent = "Selected; press Ctrl+C."; }
  });
  host.replaceChildren(text, copy, said);
}
