// Parts that refresh by themselves wait while somebody is at one of their links or buttons: it must not vanish from under them.
"use strict";
document.addEventListener("htmx:beforeRequest", (event) => {
  const held = document.activeElement?.closest("a, button, input, select, summary");
  if (held && event.target.contains(held)) event.preventDefault();
});
