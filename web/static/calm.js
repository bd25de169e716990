// Parts that refresh by themselves wait while somebody is at one of their links or buttons, or has chosen some of their lines: it must not
// vanish from under them. What was asked for before somebody came, or by a part that is not there any more, takes no place either.
"use strict";
{
  const wait = (event) => {
    const { target: list, requestConfig: { elt: asker } } = event.detail;
    if (asker.matches("form")) return; // somebody asked
    const held = document.activeElement?.closest("a, button, input, select, summary");
    const chosen = list !== asker && list.querySelector("input:checked");
    if (!asker.isConnected || chosen || (held && list.contains(held))) event.preventDefault();
  };
  document.addEventListener("htmx:beforeRequest", wait);
  document.addEventListener("htmx:beforeSwap", wait);
}
