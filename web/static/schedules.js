// The form of a schedule: its times, its plans with what each of them stands for, and how it is sent.
"use strict";
{
  const form = document.getElementById("schedule");
  const { cron, zone } = form.elements;
  const preset = document.getElementById("preset");
  const clock = document.getElementById("clock");
  const list = document.getElementById("plans");
  const { ask, complain, values, localTimes, notice } = window.rackproof;

  // When: the choice writes the expression, and the expression says which choice it is.
  const PLAIN = /^(\d{1,2}) (\d{1,2}) (\S+) \* (\S+)$/;
  function write() {
    if (!preset.value) return cron.focus();
    const [hour, minute] = (clock.value || "22:00").split(":").map(Number);
    const [day, weekday] = preset.value.split(" ");
    cron.value = `${minute} ${hour} ${day} * ${weekday}`;
    foresee();
  }
  function recognise() {
    const found = PLAIN.exec(cron.value.trim());
    const choice = found ? `${found[3]} ${found[4]}` : "";
    const known = found !== null && [...preset.options].some((option) => option.value === choice);
    preset.value = known ? choice : "";
    if (known) clock.value = `${found[2].padStart(2, "0")}:${found[1].padStart(2, "0")}`;
  }
  const moments = document.getElementById("moments");
  let asked = 0;
  async function foresee() {
    const mine = ++asked;
    const query = new URLSearchParams({ cron: cron.value, zone: zone.value });
    const answer = await fetch(`/schedules/moments?${query}`, { headers: { "HX-Request": "true" } }).catch(() => null);
    const found = answer?.ok ? await answer.text() : null;
    if (found === null || mine !== asked) return;
    moments.innerHTML = found;
    localTimes(moments);
  }
  preset.addEventListener("change", write);
  clock.addEventListener("change", write);
  let later;
  for (const field of [cron, zone]) field.addEventListener("input", () => { clearTimeout(later); later = setTimeout(() => { recognise(); foresee(); }, 300); });

  // Plans: each is read by the service while it is written.
  async function check(card) {
    const text = card.querySelector("[data-plan]").value;
    const said = card.querySelector(".verdict");
    if (!text.trim()) { said.textContent = ""; card.classList.remove("wrong"); return; }
    let words;
    let valid = false;
    try {
      const found = await ask("POST", "/api/v1/plans/check", text, "application/yaml");
      valid = found.valid;
      words = valid
        ? `${found.name}: ${found.kind} on ${found.testbed}, ${found.trials} ${found.trials === 1 ? "trial" : "trials"}, about ${span(found.duration_s)}`
        : found.problems.map((fault) => `${fault.line ? `line ${fault.line}: ` : ""}${fault.where}: expected ${fault.expected}, found ${fault.found}`).join("\n");
    } catch (problem) {
      words = problem.detail;
    }
    if (text !== card.querySelector("[data-plan]").value) return;
    said.textContent = words;
    card.classList.toggle("wrong", !valid);
    card.querySelector("[data-plan]").setAttribute("aria-invalid", String(!valid));
  }
  function span(seconds) {
    if (seconds < 90) return `${Math.round(seconds)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  function wire(card) {
    const area = card.querySelector("[data-plan]");
    let soon;
    area.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(() => check(card), 400); });
    area.rows = Math.min(Math.max(area.value.split("\n").length, 6), 24);
    check(card);
  }
  function add(text) {
    const card = document.getElementById("plan-card").content.firstElementChild.cloneNode(true);
    card.querySelector("[data-plan]").value = text;
    list.append(card);
    document.getElementById("no-plans").hidden = true;
    wire(card);
    if (!text) card.querySelector("[data-plan]").focus();
  }
  list.addEventListener("click", (event) => {
    const card = event.target.closest(".plan");
    if (event.target.closest("[data-remove]")) card.remove();
    if (event.target.closest("[data-up]") && card.previousElementSibling) { card.previousElementSibling.before(card); event.target.focus(); }
  });
  document.getElementById("add-empty").addEventListener("click", () => add(""));
  document.getElementById("add-ready").addEventListener("click", async () => {
    const [kind, name] = document.getElementById("ready").value.split("/");
    try {
      const found = await ask("GET", `/api/v1/kinds/${encodeURIComponent(kind)}`);
      add(found.plans.find((plan) => plan.name === name).text);
    } catch (problem) { notice(problem.detail, "warning"); }
  });
  document.getElementById("add-campaign").addEventListener("click", async () => {
    const number = document.getElementById("from-campaign").value;
    if (!number) return document.getElementById("from-campaign").focus();
    try {
      add((await ask("GET", `/api/v1/campaigns/${encodeURIComponent(number)}`)).plan_text);
    } catch (problem) { notice(problem.detail, "warning"); }
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const plans = [...list.querySelectorAll("[data-plan]")].map((area) => area.value).filter((text) => text.trim());
    document.getElementById("no-plans").hidden = plans.length > 0;
    if (!plans.length) return document.getElementById("add-ready").focus();
    const body = { ...values(form), plans };
    body.name ??= "";
    const hooks = document.getElementById("f-webhooks").value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (hooks.length || document.getElementById("no-webhooks")?.checked) body.webhooks = hooks;
    const id = form.dataset.schedule;
    const button = event.submitter;
    if (button) button.disabled = true;
    try {
      const made = await ask(id ? "PATCH" : "POST", `/api/v1/schedules${id ? `/${id}` : ""}`, body);
      location.assign(`/schedules/${made.id}`);
    } catch (problem) {
      complain(form, problem);
      const which = /^plan (\d+):/.exec(problem.detail ?? "");
      if (which) list.querySelectorAll("[data-plan]")[which[1] - 1]?.focus();
    } finally {
      if (button) button.disabled = false;
    }
  });

  if (!zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  recognise();
  foresee();
  list.querySelectorAll(".plan").forEach(wire);
}
