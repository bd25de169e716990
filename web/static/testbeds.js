// Keeping a testbed for a while: the usual spans at a press.
"use strict";
document.querySelector("[data-reserve]")?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-hours], [data-until]");
  if (!button) return;
  const { starts, ends } = event.currentTarget.elements;
  const at = starts.value ? new Date(starts.value) : new Date();
  if (button.dataset.hours) at.setTime(at.getTime() + Number(button.dataset.hours) * 3600e3);
  else {
    at.setDate(at.getDate() + 1);
    at.setHours(Number(button.dataset.until), 0, 0, 0);
  }
  const pad = (number) => String(number).padStart(2, "0");
  ends.value = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
});
