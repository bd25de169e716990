// What is there before anything else: the theme that somebody chose, and a hold on forms that are sent before the scripts are there.
"use strict";
{
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* storage is forbidden: the system's theme it is */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;

  // A form without an address is sent by a script. Without it the browser would write all that was typed into the address of the page.
  let early = null;
  const hold = (event) => {
    if (event.target.hasAttribute("action")) return;
    event.preventDefault();
    event.stopPropagation();
    early = event;
  };
  window.addEventListener("submit", hold, true);
  document.addEventListener("DOMContentLoaded", () => {
    window.removeEventListener("submit", hold, true);
    early?.target.requestSubmit(early.submitter);
  });
}
