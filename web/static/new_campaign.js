// A plan as a form and as YAML: what is typed into one is written into the other by the server, which also says what is wrong and what it would do.
"use strict";
{
  const desk = document.getElementById("desk");
  const form = document.getElementById("plan-form");
  const text = document.getElementById("plan-text");
  const yaml = window.rackproof.yamlText(text);
  const submit = document.getElementById("submit");
  const button = document.getElementById("submit-button");
  const original = { id: desk.dataset.original, text: text.value };
  const { ask } = window.rackproof;
  let problems = JSON.parse(desk.dataset.problems);
  let typing = 0, looking = 0, looked = 0, changed = false, refused = false;
  let last = Promise.resolve(), waiting = 0, stale = false;

  /** One after the other: what is typed second must not be overtaken by what was typed first. */
  function inTurn(work) {
    waiting += 1;
    form.setAttribute("aria-busy", "true");
    last = last.then(work).catch(failed).finally(() => {
      waiting -= 1;
      if (waiting === 0) form.removeAttribute("aria-busy");
    });
  }

  function failed(problem) {
    yaml.state.textContent = problem.detail ?? problem.title ?? String(problem);
  }

  // --- what is wrong, and where ---

  function tell(found) {
    problems = found;
    yaml.tell(problems, show);
    button.disabled = problems.length > 0;
    for (const field of form.querySelectorAll(".wrong")) field.classList.remove("wrong");
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const fault of form.querySelectorAll(".fault")) fault.textContent = "";
    for (const problem of problems) {
      const field = place(problem.where);
      if (!field) continue;
      field.classList.add("wrong");
      const fault = [...field.querySelectorAll(".fault")].find((one) => one.closest("[data-where]") === field) ?? field.querySelector(".fault");
      const said = `expected ${problem.expected}, found ${problem.found}`;
      if (fault) fault.textContent = fault.textContent ? `${fault.textContent}; ${said}` : said[0].toUpperCase() + said.slice(1);
      field.querySelector("[data-op=set]")?.setAttribute("aria-invalid", "true");
      for (let around = field.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    }
  }

  /** The field of a place in the plan, or of what is around it. */
  function place(where) {
    for (let path = where; path; path = path.replace(/(\.[^.[\]]*|\[\d+\]|^[^.[\]]*)$/, "")) {
      const field = form.querySelector(`[data-where="${CSS.escape(path)}"]`);
      if (field) return field;
    }
    return null;
  }

  function show(problem) {
    const field = place(problem.where)?.querySelector("input, select, textarea, button");
    if (field && !form.disabled) field.focus();
    else if (problem.line) yaml.select(problem.line);
  }

  // --- the form anew, as somebody left it ---

  function renew(html) {
    const active = document.activeElement;
    const focused = form.contains(active) ? { id: active.id, op: active.dataset.op, path: active.dataset.path } : null;
    const open = new Map([...form.querySelectorAll("details[data-key]")].map((part) => [part.dataset.key, part.open]));
    const legend = form.querySelector("legend");
    const made = document.createElement("template");
    made.innerHTML = html;
    // Typed, but not yet left: the answer to an earlier change knows nothing of it.
    const typed = focused && active.matches("input:not([type=checkbox]), textarea") && active.value !== active.defaultValue ? active.value : null;
    const marked = focused && typeof active.selectionStart === "number" ? [active.selectionStart, active.selectionEnd] : null;
    form.replaceChildren(legend, made.content);
    for (const part of form.querySelectorAll("details[data-key]")) if (open.get(part.dataset.key)) part.open = true;
    if (!focused) return;
    const again = (focused.id && document.getElementById(focused.id)) || [...form.querySelectorAll("[data-op]")].find((one) => one.dataset.op === focused.op && one.dataset.path === focused.path);
    if (!again) return;
    again.focus();
    if (typed !== null && again.value !== typed) {
      again.value = typed;
      again.addEventListener("blur", () => { if (again.value === typed) again.dispatchEvent(new Event("change", { bubbles: true })); }, { once: true });
    }
    if (marked && typeof again.selectionStart === "number") again.setSelectionRange(...marked);
  }

  const readable = (yes) => {
    form.disabled = !yes;
    document.getElementById("form-waits").hidden = yes;
  };

  // --- form -> YAML ---

  async function edit(edits) {
    const sent = text.value;
    const said = await ask("POST", "/campaigns/new/yaml", { text: sent, edits });
    if (text.value !== sent) return; // somebody went on typing there, which is newer
    changed = true;
    const top = text.scrollTop;
    text.value = said.text;
    text.scrollTop = top;
    stale ||= said.form !== undefined;
    if (waiting > 1) return; // somebody went on: the form is made anew after the last change
    if (said.form !== undefined) renew(said.form);
    else if (stale) return read();
    stale = false;
    tell(said.problems);
    look();
    const added = edits[0].op === "add" && form.querySelectorAll(`[data-where="${CSS.escape(where(edits[0].path))}"] .item`);
    if (added?.length) added[added.length - 1].querySelector("input, select, textarea")?.focus();
  }

  /** A JSON pointer as faults name it. */
  const where = (pointer) => pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((made, step) => (/^\d+$/.test(step) ? `${made}[${step}]` : made ? `${made}.${step}` : step), "");

  form.addEventListener("change", (event) => {
    const { op, path } = event.target.dataset;
    if (!op) return;
    const value = event.target.value;
    if (op === "null") inTurn(() => edit([event.target.checked ? { op, path } : { op: "unset", path }]));
    else if (op === "choose" && value === "") inTurn(() => edit([{ op: "unset", path }]));
    else inTurn(() => edit([{ op, path, value }]));
  });
  form.addEventListener("click", (event) => {
    const pressed = event.target.closest("button[data-op]");
    if (!pressed) return;
    const { op, path } = pressed.dataset;
    const key = form.querySelector(`[data-key-of="${CSS.escape(path)}"]`);
    if (op === "add" && key && !key.value.trim()) key.focus();
    else inTurn(() => edit([{ op, path, value: key?.value ?? "" }]));
  });

  // --- YAML -> form ---

  async function read() {
    const sent = text.value;
    const said = await ask("POST", "/campaigns/new/form", { text: sent });
    if (text.value !== sent) return;
    readable(said.form !== undefined);
    if (said.form !== undefined) renew(said.form);
    stale = false;
    tell(said.problems);
    look();
  }
  text.addEventListener("input", () => {
    changed = true;
    yaml.gutter.scrollTop = text.scrollTop;
    yaml.state.textContent = "reading";
    clearTimeout(typing);
    typing = setTimeout(() => inTurn(read), 300);
  });

  // --- what it would do ---

  function look() {
    clearTimeout(looking);
    looking = setTimeout(foresee, 250);
  }

  async function foresee() {
    const sent = text.value;
    const mine = ++looked;
    const state = document.getElementById("foresight-state");
    try {
      const said = await ask("POST", "/campaigns/new/rehearsal", { text: sent });
      if (mine !== looked) return;
      foreseen(said);
      if (!said.ask) return;
      state.textContent = "asking the testbed";
      const job = await ask("POST", "/api/v1/rehearsals", sent, "application/yaml");
      if (mine !== looked) return;
      if (job.state === "DONE" || job.state === "FAILED") foreseen(await ask("POST", "/campaigns/new/rehearsal", { text: sent, rehearsal: job.id }));
      state.textContent = job.state === "DONE" || job.state === "FAILED" ? "" : "the testbed has not answered";
    } catch (problem) {
      if (mine === looked) state.textContent = problem.detail ?? "cannot be foreseen now";
    }
  }

  function foreseen(said) {
    document.getElementById("foresight").innerHTML = said.html;
    document.getElementById("foresight-state").textContent = "";
    refused = said.refused;
  }

  // --- submitting ---

  let key = null;
  submit.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = submit.querySelector(".said");
    await last;
    if (refused && !window.confirm("The rehearsal says that it cannot run there. Submit it all the same?")) return;
    button.disabled = true;
    said.textContent = "";
    const priority = encodeURIComponent(document.getElementById("priority").value || "0");
    const again = original.id && text.value === original.text;
    const parent = original.id ? `&parent=${original.id}` : "";
    const path = again ? `/api/v1/campaigns/${original.id}/again?priority=${priority}` : `/api/v1/campaigns?priority=${priority}${parent}`;
    // The same key for the same plan: pressed twice, or after an answer was lost, it is one campaign.
    if (key?.sent !== path + text.value) key = { sent: path + text.value, id: crypto.getRandomValues(new Uint32Array(4)).join("-") };
    try {
      const made = await send(path, again ? undefined : text.value, key.id);
      changed = false;
      location.assign(`/campaigns/${made.id}`);
    } catch (problem) {
      said.textContent = problem.detail ?? problem.title;
      if (problem.problems) tell(problem.problems);
      else button.disabled = false;
    }
  });

  async function send(path, body, id) {
    const headers = { Accept: "application/json", "Idempotency-Key": id, "X-CSRF-Token": document.querySelector("meta[name=csrf]")?.content ?? "" };
    if (body !== undefined) headers["Content-Type"] = "application/yaml";
    let response;
    try {
      response = await fetch(path, { method: "POST", headers, body });
    } catch {
      throw { detail: "The service does not answer; what you wrote is still here. Try again in a moment." };
    }
    const said = await response.json().catch(() => null);
    if (!response.ok) throw said ?? { detail: `${response.status} ${response.statusText}` };
    return said;
  }

  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });

  // An earlier campaign is begun with by its number.
  const begin = document.getElementById("begin");
  begin.addEventListener("submit", (event) => {
    const chosen = document.getElementById("begin-plan").value.match(/^campaign (\d+)$/);
    if (!chosen) return;
    event.preventDefault();
    location.assign(`/campaigns/new?from=${chosen[1]}`);
  });
  begin.elements.kind?.addEventListener?.("change", () => { location.assign(`/campaigns/new?kind=${encodeURIComponent(begin.elements.kind.value)}`); });

  tell(problems);
  readable(Boolean(form.querySelector("[data-op]")));
  look();
}
