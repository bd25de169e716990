// A campaign as it happens: every event changes what it is about, once, and after a cut whatever was missed comes first.
"use strict";
{
  const GLYPHS = { FAIL: "×", INVALID: "?", ABORTED: "–", TIMEOUT: "⋯", ERROR: "!" };
  const WHOLE = new Set(["campaign_started", "campaign_resumed", "campaign_ended", "queued", "adopted", "cancel_requested", "report_ready"]);
  const AGAIN_MS = 2000;
  const REPORT_MS = 3000;
  const REPORT_LOOKS = 100;

  /** Do something soon, and at most once in so many milliseconds. */
  function seldom(action, every) {
    let timer = null;
    let last = 0;
    return () => {
      if (timer !== null) return;
      timer = setTimeout(() => { timer = null; last = Date.now(); action(); }, Math.max(0, last + every - Date.now()));
    };
  }

  const refresh = (id) => { const part = document.getElementById(id); if (part) htmx.trigger(part, "refresh"); };
  const standing = seldom(() => refresh("standing"), 700);
  const actions = seldom(() => { if (!document.querySelector("#actions details[open]")) refresh("actions"); }, 700);
  const grid = seldom(() => refresh("grid"), 700);
  const charts = seldom(() => document.dispatchEvent(new Event("rackproof:measured")), 1500);

  function show(cell, state) {
    if (!cell) return;
    cell.className = cell.className.replace(/\bv-\w+/, `v-${state === "now" ? "now" : state}`);
    cell.textContent = GLYPHS[state] ?? "";
    const said = state === "now" ? "under way" : state;
    cell.setAttribute("aria-label", `Trial ${cell.dataset.trial}, ${cell.dataset.label}: ${said}`);
    cell.title = `${cell.dataset.trial}: ${cell.dataset.label}, ${said}`;
  }

  function line(event) {
    const item = document.createElement("li");
    item.className = `event-${event.kind}`;
    item.dataset.seq = event.seq;
    const add = (tag, name, text) => { const part = document.createElement(tag); part.className = name; part.textContent = text; item.append(part, " "); return part; };
    const time = add("time", "clock", event.at);
    time.dateTime = event.at;
    add("span", "what", event.kind.replaceAll("_", " "));
    const text = add("span", "text", `${event.data.trial ? `${event.data.trial}: ` : ""}${event.data.text ?? ""}${event.data.why ? ` (${event.data.why})` : ""}`);
    if (event.kind === "trial_ended" && event.data.verdict) {
      const badge = document.createElement("span");
      badge.className = `badge verdict-${event.data.verdict}`;
      badge.textContent = event.data.verdict;
      text.prepend(badge, " ");
    }
    return item;
  }

  function write(event) {
    const log = document.getElementById("log");
    if (!log) return;
    const box = log.parentElement;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    log.append(line(event));
    rackproof.localTimes(log);
    while (log.dataset.most && log.children.length > Number(log.dataset.most)) log.firstElementChild.remove();
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  // A menu that was opened while its buttons were asked for stays open.
  document.addEventListener("htmx:beforeSwap", (event) => { if (event.target.id === "actions" && event.target.querySelector("details[open]")) event.preventDefault(); });

  // A grid that is on its way may be older than what happens meanwhile: that is shown again on it.
  let meanwhile = [];
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.target.id === "grid") meanwhile = []; });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.target.id === "grid") for (const [trial, state] of meanwhile) show(cellOf(trial), state); });
  const cellOf = (trial) => document.querySelector(`#grid [data-trial="${trial}"]`);

  function happened(event) {
    write(event);
    const state = { trial_started: "now", trial_ended: event.data.verdict }[event.kind];
    if (state) {
      const cell = cellOf(event.data.trial);
      show(cell, state);
      meanwhile.push([event.data.trial, state]);
      if (event.kind === "trial_ended") charts();
      if (!cell) grid();
    }
    if (WHOLE.has(event.kind)) { actions(); grid(); charts(); }
    standing();
  }

  const root = document.querySelector("[data-campaign]");
  if (root) {
    const path = `/api/v1/campaigns/${root.dataset.campaign}`;
    let last = Number(root.dataset.last);
    let source = null;
    let away = null;
    const connection = document.getElementById("connection");
    const said = (text, name) => { if (connection && connection.textContent !== text) { connection.textContent = text; connection.className = `soft ${name}`; } };
    const log = document.getElementById("log");
    if (log) log.parentElement.scrollTop = log.parentElement.scrollHeight;

    const follow = () => {
      source = new EventSource(`${path}/events?after=${last}`);
      source.onopen = () => { away = null; said("live", "live-on"); };
      source.onerror = () => {
        away ??= new Date();
        if (source.readyState === EventSource.CLOSED) look();
        else said(`the connection is cut since ${away.toLocaleTimeString([], { hour12: false })}; what is missed comes when it is back`, "live-off");
      };
      for (const kind of root.dataset.kinds.split(" ")) {
        source.addEventListener(kind, (message) => {
          const event = JSON.parse(message.data);
          if (event.seq <= last) return;
          last = event.seq;
          happened(event);
        });
      }
    };

    // The report is drawn after the end, and the stream has ended with it.
    const awaited = (looks) => {
      if (looks === 0 || document.querySelector('#actions a[href$="/report.pdf"]')) return;
      actions();
      setTimeout(awaited, REPORT_MS, looks - 1);
    };

    // The stream was closed for good: because the campaign has ended, or because the service could not say so.
    const look = async () => {
      source?.close();
      try {
        const campaign = await rackproof.ask("GET", path);
        if (campaign.ended && ["DONE", "FAILED", "ABORTED"].includes(campaign.state)) {
          said("", "");
          for (const part of [standing, actions, grid, charts]) part();
          setTimeout(awaited, REPORT_MS, REPORT_LOOKS);
          return;
        }
      } catch (problem) {
        if (problem.status === 401) { said("you are signed out: sign in again to follow it", "live-off"); return; }
        said(`the connection is cut since ${(away ?? new Date()).toLocaleTimeString([], { hour12: false })}; what is missed comes when it is back`, "live-off");
      }
      setTimeout(follow, AGAIN_MS);
    };

    if (root.dataset.ended === "0") follow();
    window.addEventListener("pagehide", () => source?.close());
    window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }

  // Time that is left, counted down between what the service says.
  const clock = () => {
    for (const left of document.querySelectorAll("[data-until]:not([data-until=''])")) {
      const seconds = Math.round((new Date(left.dataset.until) - Date.now()) / 1000);
      const hours = Math.floor(seconds / 3600);
      const minutes = Math.floor(seconds / 60) % 60;
      left.textContent = seconds < -2 ? left.dataset.late : seconds < 1 ? "ends at any moment" : `${hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`} left`;
    }
  };
  clock();
  setInterval(clock, 1000);
  document.addEventListener("htmx:afterSwap", clock);

  // The report that was asked for: said when it is there.
  document.addEventListener("rackproof:done", async (event) => {
    if (!event.target.matches("[data-report]")) return;
    const job = event.detail.id;
    rackproof.notice("A worker has been asked for the report.", "note");
    for (let tries = 0; tries < 300; tries += 1) {
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
      let now;
      try { now = await rackproof.ask("GET", `/api/v1/jobs/${job}`); } catch { continue; }
      if (now.state === "DONE") { rackproof.notice("The report is ready."); for (const menu of document.querySelectorAll("#actions details[open]")) menu.open = false; refresh("actions"); return; }
      if (now.state === "FAILED") { rackproof.notice(`The report could not be written: ${now.error}`, "warning"); return; }
      if (tries === 20) rackproof.notice("No worker has taken it yet; it is written as soon as one does.", "warning");
    }
  });
}
