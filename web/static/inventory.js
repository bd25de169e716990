// An inventory as YAML: what is wrong is shown at its line, and what the testbed could run beside it; the server says both.
"use strict";
{
  const form = document.getElementById("inventory");
  const text = document.getElementById("text");
  const gutter = document.getElementById("gutter");
  const faults = document.getElementById("yaml-faults");
  const state = document.getElementById("yaml-state");
  const save = document.getElementById("save");
  const said = form.querySelector(".said");
  const { ask } = window.rackproof;
  const begun = text.value;
  let typing = 0, name = null;

  function tell(problems) {
    const bad = new Set(problems.map((problem) => problem.line));
    gutter.replaceChildren(...text.value.split("\n").map((_, at) => {
      const line = document.createElement("b");
      line.textContent = at + 1;
      if (bad.has(at + 1)) line.className = "bad";
      return line;
    }));
    gutter.scrollTop = text.scrollTop;
    faults.replaceChildren(...problems.map((problem) => {
      const item = document.createElement("li");
      const jump = document.createElement("button");
      jump.type = "button";
      jump.textContent = `${problem.line ? `Line ${problem.line}: ` : ""}${problem.where}: expected ${problem.expected}, found ${problem.found}`;
      jump.addEventListener("click", () => show(problem.line ?? 1));
      item.append(jump);
      return item;
    }));
    text.setAttribute("aria-invalid", problems.length ? "true" : "false");
    state.textContent = problems.length ? `${problems.length} ${problems.length === 1 ? "fault" : "faults"}` : "valid";
    save.disabled = problems.length > 0;
  }

  function show(number) {
    const lines = text.value.split("\n");
    const before = lines.slice(0, number - 1).reduce((length, line) => length + line.length + 1, 0);
    text.focus();
    text.setSelectionRange(before, before + lines[number - 1].length);
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
  text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });

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
