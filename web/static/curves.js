// The curves of a trial: on its own page all of them; on its campaign's page its histogram, for a trial that is chosen there.
"use strict";
{
  const { colour, axis, within, chart, keys } = rackproof.charts;

  /** Upright bars from each point to the next; the last point only ends the last bar. */
  function bars(plot, series, stroke) {
    const { ctx: context, bbox } = plot;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    context.fillStyle = stroke;
    context.globalAlpha = 0.35;
    const ground = plot.valToPos(0, "y", true);
    for (let i = 0; i + 1 < series.points.length; i += 1) {
      const left = plot.valToPos(series.points[i][0], "x", true);
      const right = plot.valToPos(series.points[i + 1][0], "x", true);
      const top = plot.valToPos(series.points[i][1], "y", true);
      context.fillRect(left, top, Math.max(right - left - (right - left > 4 ? 1 : 0), 0.5), ground - top);
    }
    context.restore();
  }

  /** Draw one chart of curves into a place. Drag to zoom, double-click for all of it. Gives what can be removed. */
  function curve(place, one, height) {
    const hidden = new Set(one.series.filter((series) => series.off).map((series) => series.label));
    const make = (width) => {
      const shown = one.series.filter((series) => !hidden.has(series.label) && series.points.length);
      const xs = [...new Set(shown.flatMap((series) => series.points.map((point) => point[0])))].sort((a, b) => a - b);
      const known = shown.map((series) => new Map(series.points));
      const strokes = shown.map((series) => colour(series, one.series.indexOf(series)));
      const barred = shown.some((series) => series.bars);
      return new uPlot({
        width,
        height,
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, y: false, points: { show: false } },
        scales: { x: { time: false, distr: !barred && xs[0] > 0 && xs.at(-1) / xs[0] > 100 ? 3 : 1 }, y: { range: (_, low, high) => [Math.min(0, low), high * 1.05 || 1] } },
        axes: [axis(within(one.x.name, one.x.unit), { size: 30 }), axis(within(one.y.name, one.y.unit), { size: 54 })],
        series: [{}, ...shown.map((series, number) => ({ label: series.label, stroke: strokes[number], width: 2, points: { show: false }, spanGaps: true, ...(series.bars ? { paths: () => null } : {}) }))],
        hooks: { draw: [(plot) => shown.forEach((series, number) => { if (series.bars) bars(plot, series, strokes[number]); })] },
      }, [xs, ...known.map((points) => xs.map((x) => points.get(x) ?? null))], place);
    };
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${one.y.name} over ${one.x.name}: ${one.series.length} curves`);
    const made = chart(place, make);
    const list = one.series.length > 1 ? keys(one.series, hidden, () => made.draw()) : null;
    if (list) place.before(list);
    return { zoom(part) {
      const { min, max } = made.plot.scales.x;
      const middle = (min + max) / 2;
      if (part === null) made.draw(); else made.plot.setScale("x", { min: middle - (max - min) * part / 2, max: middle + (max - min) * part / 2 });
    }, remove() { made.remove(); list?.remove(); } };
  }

  async function all(root) {
    const response = await fetch(root.dataset.source);
    if (!response.ok) return;
    const { charts } = await response.json();
    charts.forEach((one, at) => curve(root.querySelector(`[data-curve="${at}"] .chart`), one, 300));
  }

  function histogram(root) {
    const place = root.querySelector(".chart");
    const choice = root.querySelector("select");
    const link = root.querySelector("a");
    const said = root.querySelector("[role=status]");
    let made = null;
    let asked = 0;

    async function show() {
      const mine = ++asked;
      link.href = `${root.dataset.trials}${choice.value}`;
      let response;
      try { response = await fetch(`${root.dataset.trials}${choice.value}/curves.json`); } catch { said.textContent = "the service does not answer; try again in a moment"; return; }
      if (!response.ok) return;
      const one = (await response.json()).charts.find((each) => each.name === "histogram");
      if (mine !== asked) return;
      made?.remove();
      made = null;
      said.textContent = one ? `${one.n.toLocaleString("en").replaceAll(",", "\u202f")} frames` : "this trial has no histogram";
      if (one) made = curve(place, one, 380);
    }

    choice.addEventListener("change", show);
    root.addEventListener("click", (event) => {
      const how = event.target.closest("[data-zoom]")?.dataset.zoom;
      if (how) made?.zoom({ in: 0.5, out: 2, all: null }[how]);
      const step = Number(event.target.closest("[data-step]")?.dataset.step ?? 0);
      const next = choice.selectedIndex + step;
      if (step && next >= 0 && next < choice.options.length) { choice.selectedIndex = next; show(); }
    });
    show();
  }

  const drawn = document.getElementById("curves");
  if (drawn) all(drawn);
  const chosen = document.getElementById("histogram");
  if (chosen) histogram(chosen);
}
