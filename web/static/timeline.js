// The timelines of a trial: strips below each other over one axis of time. Cursor and zoom are the same in all strips of one timeline.
"use strict";
{
  const { css, colour, number, axis, within, chart } = rackproof.charts;
  const HEIGHT = 112;
  const AXIS = 34;

  /** The moment from which time counts. */
  function start(plot) {
    const { min, max } = plot.scales.x;
    if (min >= 0 || max <= 0) return;
    const { ctx: context, bbox } = plot;
    const x = plot.valToPos(0, "x", true);
    context.save();
    context.strokeStyle = css("--soft");
    context.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    context.beginPath();
    context.moveTo(x, bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
    context.stroke();
    context.restore();
  }

  /** What a strip's series have where the cursor is. */
  function tell(plot, tip, one, x) {
    const at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
    tip.hidden = at === null || at === undefined;
    if (tip.hidden) return;
    const moment = `${number(one.at[at])} ${x.unit}`;
    tip.textContent = [moment, ...one.series.map((series) => `${series.label}: ${number(series.values[at])} ${one.y.unit}`)].join("\n");
    const left = plot.cursor.left;
    tip.style.left = `${left + tip.offsetWidth + 14 > plot.over.clientWidth ? Math.max(0, left - tip.offsetWidth - 10) : left + 10}px`;
    tip.style.top = "2px";
  }

  function strip(figure, line, one, group, last) {
    const place = figure.querySelector(".chart");
    const marks = figure.querySelectorAll(".key");
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${one.y.name} over ${line.x.name}: ${one.series.map((series) => series.label).join(", ")}`);
    return chart(place, (width) => {
      const strokes = one.series.map((series, number_) => colour(series, number_));
      marks.forEach((mark, number_) => { mark.style.background = strokes[number_]; });
      const below = last ? axis(within(line.x.name, line.x.unit), { size: 30 }) : axis(null, { size: 4, labelSize: 0, values: (_, ticks) => ticks.map(() => "") });
      const plot = new uPlot({
        width,
        height: last ? HEIGHT + AXIS : HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, y: false, points: { show: false }, sync: { key: group, scales: ["x", null] } },
        scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high * 1.08 || 1] } },
        axes: [below, axis(null, { size: 54, labelSize: 0 })],
        series: [{}, ...one.series.map((series, number_) => ({ label: series.label, stroke: strokes[number_], width: 1.5, points: { show: false }, spanGaps: true }))],
        hooks: { draw: [start], setCursor: [(drawn) => tell(drawn, tip, one, line.x)] },
      }, [one.at, ...one.series.map((series) => series.values)], place);
      plot.over.append(tip);
      return plot;
    });
  }

  function timeline(root, line, number_) {
    const figures = [...root.querySelectorAll("figure")];
    const made = line.strips.map((one, place) => strip(figures[place], line, one, `timeline-${number_}`, place === line.strips.length - 1));
    root.addEventListener("click", (event) => {
      const how = event.target.closest("[data-zoom]")?.dataset.zoom;
      if (!how || !made.length) return;
      const { min, max } = made[0].plot.scales.x;
      const [middle, span] = [(min + max) / 2, max - min];
      const to = { in: [middle - span / 4, middle + span / 4], out: [middle - span, middle + span], left: [min - span / 2, max - span / 2], right: [min + span / 2, max + span / 2], all: [-Infinity, Infinity] }[how];
      const scale = { min: Math.max(to[0], line.from), max: Math.min(to[1], line.to) };
      if (scale.min < scale.max) for (const one of made) one.plot.setScale("x", scale);
    });
  }

  async function all(roots) {
    const response = await fetch(roots[0].dataset.source);
    if (!response.ok) return;
    const { timelines } = await response.json();
    timelines.forEach((line, number_) => timeline(roots[number_], line, number_));
  }

  const roots = [...document.querySelectorAll("[data-timeline]")];
  if (roots.length) all(roots);
}
