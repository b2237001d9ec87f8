// What stands in the form, kept by the browser's tab: a reload brings a new session, which asks for it.

const HELD = "heval-draft";

export default function ({ data, setTriggerValue }) {
  if (data.draft !== null) sessionStorage.setItem(HELD, data.draft);
  else setTriggerValue("held", sessionStorage.getItem(HELD) ?? "none");
}
