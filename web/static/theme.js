// The theme that somebody chose, before anything is drawn.
"use strict";
{
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* storage is forbidden: the system's theme it is */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}
