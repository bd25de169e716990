// A token is made, shown this once, and listed.
"use strict";
{
  const { ask, complain, notice, localTimes } = window.rackproof;
  const form = document.getElementById("token-form");
  const secret = document.getElementById("secret");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const expires = new Date(Date.now() + Number(document.getElementById("days").value) * 86400e3).toISOString();
    const scopes = [...form.querySelectorAll("[data-scope]:checked")].map((box) => box.value);
    const button = event.submitter;
    if (button) button.disabled = true;
    try {
      const made = await ask("POST", "/api/v1/tokens", { name: form.elements.name.value, scopes, expires });
      form.reset();
      form.querySelectorAll(".wrong").forEach((field) => field.classList.remove("wrong"));
      form.querySelector(".said").textContent = "";
      secret.value = made.secret;
      document.getElementById("example").textContent = `curl -H "Authorization: Bearer ${made.secret}" ${location.origin}/api/v1/session`;
      document.getElementById("made").hidden = false;
      document.getElementById("made").scrollIntoView({ block: "nearest" });
      secret.focus();
      secret.select();
      const list = document.getElementById("tokens");
      const answer = await fetch("/account/tokens");
      if (answer.ok) list.innerHTML = await answer.text();
      localTimes(list);
    } catch (problem) {
      complain(form, problem);
    } finally {
      if (button) button.disabled = false;
    }
  });
  document.getElementById("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(secret.value); notice("Copied."); } catch { secret.select(); document.execCommand("copy"); notice("Copied."); }
  });
}
