// Sections are open on paper; what the reader had closed is closed again afterwards.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.section:not([open])")];
  opened.forEach((section) => { section.open = true; });
});
addEventListener("afterprint", () => opened.forEach((section) => { section.open = false; }));
