// Parts that refresh by themselves wait while somebody is at one of their links or buttons, or has chosen some of their lines: it must not
// vanish from under them.
"use strict";
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches("form")) return; // somebody asked
  const list = event.target.dataset.calm === undefined ? event.target : event.detail.target;
  if (list !== event.target && list.querySelector("input:checked")) event.preventDefault();
  const held = document.activeElement?.closest("a, button, input, select, summary");
  if (held && list.contains(held)) event.preventDefault();
});
