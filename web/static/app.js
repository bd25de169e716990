// What the pages do beyond htmx: forms that speak to the API, times in the reader's zone, the theme.
"use strict";

const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

/** Ask the API. Resolves to what it said; throws its problem. */
async function ask(method, path, body, type = "application/json") {
  const headers = { Accept: "application/json" };
  if (csrf()) headers["X-CSRF-Token"] = csrf();
  if (body !== undefined) headers["Content-Type"] = type;
  const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers, body: sent });
  } catch {
    throw { title: "No connection", detail: "the service does not answer; try again in a moment", problems: null };
  }
  const text = await response.text();
  let said = null;
  try { said = text ? JSON.parse(text) : null; } catch { /* no JSON */ }
  if (!response.ok) throw said ?? { title: String(response.status), detail: response.statusText, problems: null };
  return said;
}

/** The fields of a form as JSON: numbers stay numbers, a.b becomes an object, empty optional fields are left out. */
function values(form) {
  const made = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled || (field.type === "radio" && !field.checked)) continue;
    let value = field.value;
    if (field.type === "checkbox") value = field.checked;
    else if (field.multiple) value = [...field.selectedOptions].map((option) => option.value);
    else if (field.dataset.as === "moment") value = value ? new Date(value).toISOString() : null;
    else if (field.dataset.as === "lines") value = value.split("\n").map((line) => line.trim()).filter(Boolean);
    else if (field.dataset.as === "json") value = value ? JSON.parse(value) : null;
    else if (field.type === "number") value = value === "" ? null : Number(value);
    if ((value === "" || value === null) && !field.required && field.dataset.keep === undefined) continue;
    const steps = field.name.split(".");
    const last = steps.pop();
    let at = made;
    for (const step of steps) at = at[step] ??= {};
    at[last] = value;
  }
  return made;
}

function complain(form, problem) {
  for (const field of form.querySelectorAll(".field.wrong")) {
    field.classList.remove("wrong");
    const help = field.querySelector(".help");
    help.textContent = help.dataset.usual;
    field.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  }
  const rest = [];
  for (const fault of problem.problems ?? []) {
    const where = fault.where.replace(/^body\./, "");
    const field = form.querySelector(`[data-field="${CSS.escape(where)}"]`);
    if (field) {
      field.classList.add("wrong");
      const help = field.querySelector(".help");
      help.dataset.usual ??= help.textContent;
      help.textContent = `expected ${fault.expected}, found ${fault.found}`;
      field.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
    } else rest.push(`${fault.line ? `line ${fault.line}: ` : ""}${where}: expected ${fault.expected}, found ${fault.found}`);
  }
  const said = form.querySelector(".said");
  const text = [problem.detail, ...rest].filter(Boolean).join("\n");
  if (said) said.textContent = text;
  else notice(text, "warning");
  form.querySelector(".wrong input, .wrong select, .wrong textarea")?.focus();
}

function notice(text, tone = "good") {
  const line = document.createElement("p");
  line.className = `notice tone-${tone}`;
  line.textContent = text;
  document.getElementById("notices").append(line);
  setTimeout(() => line.remove(), 8000);
}

// <form data-api="POST /api/v1/..." data-then="/where/{id}">: data-then "reload" shows the page anew, "say:TEXT" says something.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.api) return;
  event.preventDefault();
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const [method, path] = form.dataset.api.split(" ");
  const button = event.submitter;
  if (button) button.disabled = true;
  try {
    const type = form.dataset.type;
    const body = form.dataset.body === "none" || method === "DELETE" ? undefined : type ? form.elements[form.dataset.raw].value : values(form);
    const said = await ask(method, path, body, type);
    const then = form.dataset.then ?? "reload";
    form.dispatchEvent(new CustomEvent("rackproof:done", { bubbles: true, detail: said }));
    if (then === "reload") location.reload();
    else if (then.startsWith("say:")) notice(then.slice(4));
    else if (then !== "stay") location.assign(then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(said?.[name] ?? "")));
  } catch (problem) {
    complain(form, problem);
  } finally {
    if (button) button.disabled = false;
  }
});

document.addEventListener("htmx:configRequest", (event) => {
  if (csrf()) event.detail.headers["X-CSRF-Token"] = csrf();
  // An address says what was chosen, not what was left open.
  if (event.detail.verb === "get") for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
});
document.addEventListener("formdata", (event) => {
  if (event.target.method === "get" && !event.target.dataset.api) for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
// <form method="get" data-go>: a choice is a new address, at once.
document.addEventListener("change", (event) => event.target.form?.dataset.go !== undefined && event.target.form.requestSubmit());
document.addEventListener("htmx:sendError", () => notice("The service does not answer; try again in a moment.", "warning"));

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-theme-switch]")) {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it holds for this page */ }
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, select, textarea, [contenteditable]")) {
    const search = document.querySelector(".search input");
    if (search) { event.preventDefault(); search.focus(); }
  }
});

/** Times in the reader's zone, without the day where they are near, as the server writes them too (words.py); the title keeps UTC. */
const NEAR_MS = 12 * 3600 * 1000;
function localTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
    const pad = (number) => String(number).padStart(2, "0");
    const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
    time.textContent = Math.abs(Date.now() - at) < NEAR_MS ? at.toLocaleTimeString([], clock) : `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
    time.dataset.local = "";
  }
}
localTimes();
// On a narrow screen, the tab that is shown is in sight.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48;
document.addEventListener("htmx:afterSwap", (event) => localTimes(event.target));

window.rackproof = { ask, notice, localTimes, values, complain };
