// The measurements of a campaign: a chart for each setup, a point with its interval for each trial, growing as trials end.
"use strict";
{
  const { css, dark, colour, number, axis, within, chart, keys } = rackproof.charts;
  const HEIGHT = 230;
  const root = document.getElementById("points");
  const hidden = new Set();
  let made = [];
  let latest = null;
  let asked = 0;

  function range(data) {
    let low = Infinity;
    let high = -Infinity;
    for (const panel of data.panels) for (const one of panel.series) if (!hidden.has(one.label)) {
      for (const point of one.points) for (const value of [point.y, point.low, point.high]) {
        if (value !== null && value !== undefined) { low = Math.min(low, value); high = Math.max(high, value); }
      }
    }
    if (low > high) return [0, 1];
    // A scale from zero, where that hides nothing.
    const from = low >= 0 && low < high * 0.8 ? 0 : low - (high - low) * 0.06;
    return [from, high + (high - from || Math.abs(high) || 1) * 0.06];
  }

  function mark(context, point, x, y, stroke) {
    const size = 3.5 * devicePixelRatio;
    context.strokeStyle = stroke;
    context.fillStyle = stroke;
    context.lineWidth = 1.4 * devicePixelRatio;
    context.beginPath();
    if (point.verdict !== "PASS") {
      context.strokeStyle = dark() ? "#e0aa4c" : css("--verdict-INVALID");
      context.moveTo(x - size, y - size); context.lineTo(x + size, y + size);
      context.moveTo(x - size, y + size); context.lineTo(x + size, y - size);
      context.stroke();
    } else {
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** The line on which as much is reached as was asked for. */
  function best(plot, name) {
    const { ctx: context, bbox } = plot;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    context.strokeStyle = css("--soft");
    context.lineWidth = devicePixelRatio;
    context.beginPath();
    context.moveTo(plot.valToPos(0, "x", true), plot.valToPos(0, "y", true));
    const most = plot.scales.x.max;
    context.lineTo(plot.valToPos(most, "x", true), plot.valToPos(most, "y", true));
    context.stroke();
    // Where the line leaves the panel, at the top or at the right.
    const end = Math.min(most, plot.scales.y.max);
    context.fillStyle = css("--soft");
    context.font = `${11 * devicePixelRatio}px sans-serif`;
    context.textAlign = end < most ? "left" : "right";
    context.textBaseline = "top";
    context.fillText(`= ${name}`, plot.valToPos(end, "x", true) + (end < most ? 6 : -6) * devicePixelRatio, plot.valToPos(end, "y", true));
    context.restore();
  }

  function panel(place, data, one, limits) {
    const { from, to } = data.x;
    const ends = (to - from) * 0.05 || 1;
    const xs = [...new Set(one.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
    const shown = one.series.filter((series) => !hidden.has(series.label));
    const means = shown.map((series) => xs.map((x) => {
      const here = series.points.filter((point) => point.x === x && point.verdict === "PASS" && point.y !== null);
      return here.length ? here.reduce((sum, point) => sum + point.y, 0) / here.length : null;
    }));
    const strokes = shown.map((series) => colour(series, one.series.indexOf(series)));
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    let near = null;

    const draw = (plot) => {
      const context = plot.ctx;
      if (data.at_best) best(plot, data.x.name);
      context.save();
      context.beginPath();
      context.rect(plot.bbox.left - 6, plot.bbox.top - 6, plot.bbox.width + 12, plot.bbox.height + 12);
      context.clip();
      shown.forEach((series, number_) => {
        for (const point of series.points) {
          const x = plot.valToPos(point.x, "x", true);
          if (point.y === null) {
            context.fillStyle = strokes[number_];
            context.font = `${14 * devicePixelRatio}px sans-serif`;
            context.textAlign = "center";
            context.fillText("∞", x, plot.bbox.top + 12 * devicePixelRatio);
            continue;
          }
          if (point.low !== null || point.high !== null) {
            context.strokeStyle = strokes[number_];
            context.globalAlpha = point.verdict === "PASS" ? 0.55 : 0.25;
            context.lineWidth = 2 * devicePixelRatio;
            context.beginPath();
            context.moveTo(x, point.low === null ? plot.bbox.top + plot.bbox.height : plot.valToPos(point.low, "y", true));
            context.lineTo(x, point.high === null ? plot.bbox.top : plot.valToPos(point.high, "y", true));
            context.stroke();
            context.globalAlpha = 1;
          }
          mark(context, point, x, plot.valToPos(point.y, "y", true), strokes[number_]);
        }
      });
      context.restore();
    };

    const find = (plot) => {
      const { left, top } = plot.cursor;
      near = null;
      let least = 24 ** 2;
      if (left >= 0) shown.forEach((series) => series.points.forEach((point) => {
        const y = point.y === null ? 8 : plot.valToPos(point.y, "y");
        const distance = (plot.valToPos(point.x, "x") - left) ** 2 + (y - top) ** 2;
        if (distance < least) { least = distance; near = { series, point, y }; }
      }));
      tip.hidden = near === null;
      plot.over.style.cursor = near ? "pointer" : "";
      if (!near) return;
      const { point, series } = near;
      const span = point.low === null && point.high === null ? "no interval" : `[${point.low === null ? "-∞" : number(point.low)}, ${point.high === null ? "∞" : number(point.high)}]`;
      tip.textContent = "";
      for (const text of [`${series.label}: ${point.y === null ? "∞" : number(point.y)} ${data.unit}`, `${span}, n ${point.n}`, `trial ${point.trial}, ${data.x.name} ${number(point.x)} ${data.x.unit}${point.verdict === "PASS" ? "" : `, ${point.verdict}`}`]) {
        const part = document.createElement("div");
        part.textContent = text;
        tip.append(part);
      }
      const x = plot.valToPos(point.x, "x");
      tip.style.left = `${Math.max(0, Math.min(x + 10, plot.over.clientWidth - tip.offsetWidth - 2))}px`;
      tip.style.top = `${Math.max(0, near.y - tip.offsetHeight - 8)}px`;
    };

    return (width) => {
      const plot = new uPlot({
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
        scales: { x: { time: false, range: [from - ends, to + ends] }, y: { range: limits } },
        axes: [axis(within(data.x.name, data.x.unit), { size: 30 }), axis(within(data.name, data.unit), { size: 54 })],
        series: [{}, ...shown.map((_, number_) => ({ stroke: strokes[number_], width: 1, alpha: 0.6, dash: [4, 3], points: { show: false }, spanGaps: false }))],
        hooks: { draw: [draw], setCursor: [find] },
      }, [xs.length ? xs : [from, to], ...(xs.length ? means : shown.map(() => [null, null]))], place);
      plot.over.append(tip);
      plot.over.addEventListener("click", () => { if (near) location.assign(`${root.dataset.trials}${near.point.trial}`); });
      return plot;
    };
  }

  function show(data) {
    latest = data;
    for (const one of made) one.remove();
    made = [];
    if (!data.panels.length) return;
    const limits = range(data);
    const all = [...new Map(data.panels.flatMap((one) => one.series).map((series) => [series.label, series])).values()];
    const panels = document.createElement("div");
    panels.className = "panels";
    const height = root.offsetHeight;
    root.style.minHeight = `${height}px`;
    const focused = document.activeElement?.closest?.(".keys") ? [...root.querySelectorAll(".keys button")].indexOf(document.activeElement) : -1;
    root.replaceChildren(...(all.length > 1 ? [keys(all, hidden, () => show(latest))] : []), panels);
    for (const one of data.panels) {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = one.title || "All trials";
      const place = document.createElement("div");
      const count = one.series.reduce((sum, series) => sum + series.points.length, 0);
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", `${data.name} over ${data.x.name}, ${one.title}: ${count} points; the table of measurements has the numbers`);
      figure.append(caption, place);
      panels.append(figure);
      made.push(chart(place, panel(place, data, one, limits)));
    }
    if (data.left_out) {
      const more = document.createElement("p");
      more.className = "soft";
      more.textContent = `${data.left_out} more setups are not drawn; the table of measurements has their numbers.`;
      root.append(more);
    }
    root.style.minHeight = "";
    if (focused >= 0) root.querySelectorAll(".keys button")[focused]?.focus();
  }

  async function load() {
    const mine = ++asked;
    const query = new URLSearchParams({ quantity: root.dataset.quantity, of: root.dataset.of });
    try {
      const response = await fetch(`${root.dataset.source}?${query}`, { headers: { Accept: "application/json" } });
      const found = response.ok ? await response.json() : null;
      if (found && mine === asked) show(found); // one that comes late is older
    } catch { /* the line of the connection says so, and the next trial's end asks again */ }
  }

  // The first trial's end tells what there is to choose from: the choices come from the page as it is now.
  async function begin() {
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const choices = page.querySelector(".charts .head");
      const quantity = page.getElementById("points")?.dataset.quantity;
      if (!quantity || !choices) return;
      Object.assign(root.dataset, { quantity, of: page.getElementById("points").dataset.of });
      document.querySelector(".charts .head").replaceWith(document.adoptNode(choices));
      choose();
    } catch { return; } // the next trial's end asks again
    await load();
  }

  function choose() {
    const form = document.querySelector(".charts form");
    form?.addEventListener("change", (event) => {
      const of = form.elements.of;
      if (event.target !== of) { root.dataset.quantity = form.elements.quantity.value; }
      root.dataset.of = of.value;
      history.replaceState(null, "", `?${new URLSearchParams({ quantity: root.dataset.quantity, of: root.dataset.of })}`);
      hidden.clear();
      load();
    });
    form?.addEventListener("submit", (event) => event.preventDefault());
  }

  if (root) {
    if (root.dataset.quantity) load();
    document.addEventListener("rackproof:measured", () => { if (root.dataset.quantity) load(); else begin(); });
    choose();
  }
}
