// An inventory as YAML: what is wrong is shown at its line, and what the testbed could run beside it; the server says both.
"use strict";
{
  const form = document.getElementById("inventory");
  const text = document.getElementById("text");
  const save = document.getElementById("save");
  const said = form.querySelector(".said");
  const { ask } = window.rackproof;
  const begun = text.value;
  let typing = 0, name = null;

  const { state, tell: show, select } = window.rackproof.yamlText(text);

  function tell(problems) {
    show(problems, (problem) => select(problem.line ?? 1));
    save.disabled = problems.length > 0;
  }

  let shown = null;
  function fits(kinds) {
    // As the page came, it says so already.
    if (shown === null && kinds.length === document.getElementById("fits").children.length) { shown = kinds; return; }
    shown = kinds;
    document.getElementById("fits").replaceChildren(...kinds.map((kind) => {
      const item = document.createElement("li");
      const can = document.createElement("span");
      can.className = `state state-${kind.missing.length ? "OFFLINE" : "ONLINE"}`;
      can.textContent = kind.missing.length ? "cannot run" : "can run";
      const words = document.createElement("span");
      const title = document.createElement("strong");
      title.textContent = kind.title;
      words.append(title, kind.missing.length ? ` missing: ${kind.missing.join("; ")}` : kind.devices.length ? ` on ${kind.devices.join(", ")}` : "");
      item.append(can, " ", words);
      return item;
    }));
  }

  async function read() {
    const sent = text.value;
    try {
      const found = await ask("POST", "/api/v1/inventories/check", sent, "application/yaml");
      if (text.value !== sent) return;
      tell(found.problems);
      name = found.name;
      fits(found.kinds ?? []);
      const note = document.getElementById("as-new");
      note.hidden = !name || !form.dataset.name || name === form.dataset.name;
      note.textContent = `It is kept as another testbed, ${name}; ${form.dataset.name} stays as it is.`;
    } catch (problem) {
      state.textContent = problem.detail ?? problem.title;
    }
  }

  text.addEventListener("input", () => {
    state.textContent = "reading";
    save.disabled = true;
    clearTimeout(typing);
    typing = setTimeout(read, 300);
  });

  document.getElementById("load").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    text.value = await file.text();
    event.target.value = "";
    read();
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    said.textContent = "";
    // Somebody else's change is not overwritten, nor another testbed of that name.
    const revision = name === form.dataset.name ? form.dataset.revision : 0;
    try {
      const kept = await ask("PUT", `/api/v1/inventories/${encodeURIComponent(name)}?revision=${revision}`, text.value, "application/yaml");
      window.removeEventListener("beforeunload", keep);
      location.assign(`/testbeds/${encodeURIComponent(kept.name)}`);
    } catch (problem) {
      said.textContent = problem.detail ?? problem.title;
      if (problem.problems) tell(problem.problems);
      else save.disabled = false;
    }
  });

  const keep = (event) => { if (text.value !== begun) event.preventDefault(); };
  window.addEventListener("beforeunload", keep);
  read();
}
