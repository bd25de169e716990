// A trend as a chart: points with their intervals, where it changed, the mean on either side; a press opens the campaign.
"use strict";
document.querySelector("[data-trend-form]")?.addEventListener("change", (event) => {
  const form = event.currentTarget;
  if (event.target.name === "name") for (const field of form.elements) if (field.name !== "name") field.disabled = true;
  if (event.target.name === "quantity" && form.elements.of) form.elements.of.disabled = false;
  for (const field of form.elements) if (field.value === "") field.disabled = true;
  form.requestSubmit();
});
{
  const place = document.getElementById("trend");
  if (place) {
    const data = JSON.parse(place.dataset.trend);
    const colour = (name) => getComputedStyle(place).getPropertyValue(name).trim();
    const { number, said, within } = rackproof.charts;
    const day = (seconds) => {
      const at = new Date(seconds * 1000);
      const pad = (part) => String(part).padStart(2, "0");
      return [`${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`, `${pad(at.getHours())}:${pad(at.getMinutes())}`];
    };
    const numbers = [...data.value, ...data.low, ...data.high].filter((value) => value !== null);
    const span = numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : [0, 1];
    const pad = (span[1] - span[0]) * 0.08 || Math.abs(span[0]) * 0.05 || 1;
    const first = data.at[0];
    const last = data.at[data.at.length - 1];
    const side = (last - first) * 0.03 || 43200;

    function details(u) {
      const { ctx, bbox } = u;
      const x = (seconds) => u.valToPos(seconds, "x", true);
      const y = (value) => u.valToPos(value, "y", true);
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      const unit = devicePixelRatio;
      const line = (x0, y0, x1, y1) => { ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); ctx.stroke(); };
      // The mean between two changes, and the changes.
      ctx.strokeStyle = colour("--link");
      ctx.globalAlpha = 0.25;
      ctx.lineWidth = 7 * unit;
      data.levels.forEach((level, index) => {
        if (level === null) return;
        const from = data.at[data.edges[index]];
        const to = data.at[data.edges[index + 1] - 1];
        line(x(from) - 6 * unit, y(level), x(to) + 6 * unit, y(level));
      });
      ctx.globalAlpha = 1;
      ctx.strokeStyle = colour("--bad");
      ctx.lineWidth = 1.5 * unit;
      ctx.setLineDash([5 * unit, 4 * unit]);
      for (const edge of data.edges.slice(1, -1)) {
        const middle = (x(data.at[edge - 1]) + x(data.at[edge])) / 2;
        line(middle, bbox.top, middle, bbox.top + bbox.height);
      }
      ctx.setLineDash([]);
      // The intervals.
      ctx.strokeStyle = colour("--soft");
      ctx.lineWidth = 1.5 * unit;
      data.at.forEach((at, index) => {
        if (data.low[index] === null || data.high[index] === null) return;
        const [middle, low, high, cap] = [x(at), y(data.low[index]), y(data.high[index]), 4 * unit];
        line(middle, low, middle, high);
        line(middle - cap, low, middle + cap, low);
        line(middle - cap, high, middle + cap, high);
      });
      // What is infinite stands at the upper edge.
      ctx.fillStyle = colour("--link");
      ctx.font = `${18 * unit}px "Source Sans Pro", system-ui, sans-serif`;
      ctx.textAlign = "center";
      ctx.textBaseline = "top";
      data.at.forEach((at, index) => { if (data.value[index] === null) ctx.fillText("∞", x(at), bbox.top + 2 * unit); });
      ctx.restore();
    }

    const tip = document.createElement("div");
    tip.className = "tip";
    function tell(u) {
      const index = u.cursor.idx;
      if (index === null || index === undefined || u.cursor.left < 0) { tip.textContent = ""; return; }
      const interval = data.low[index] === null ? "" : `\n${number(data.low[index])} to ${number(data.high[index])}`;
      tip.textContent = `${data.value[index] === null ? "infinite" : number(data.value[index])} ${said(data.unit)}${interval}\ncampaign ${data.campaign[index]}\n${day(data.at[index]).join(" ")}`;
      const left = u.valToPos(data.at[index], "x");
      tip.style.left = `${Math.max(0, left > u.over.clientWidth - 150 ? left - tip.offsetWidth - 12 : left + 12)}px`;
      tip.style.top = "8px";
    }

    let chart;
    function draw() {
      chart?.destroy();
      const axis = { stroke: colour("--soft"), grid: { stroke: colour("--hair"), width: 1 }, ticks: { stroke: colour("--hair"), width: 1 }, font: "13px 'Source Sans Pro', system-ui, sans-serif" };
      const short = last - first < 2 * 86400;
      chart = new uPlot(
        {
          width: place.clientWidth,
          height: place.clientHeight,
          legend: { show: false },
          cursor: { y: false, drag: { x: false, y: false }, points: { size: 11 } },
          scales: { x: { range: [first - side, last + side] }, y: { range: [span[0] - pad, span[1] + pad] } },
          axes: [
            { ...axis, values: (u, splits) => splits.map((split) => (short ? day(split).join("\n") : day(split)[0])), space: 90, ...(short ? {} : { incrs: [1, 2, 4, 7, 14, 28, 56, 112, 365, 730].map((days) => days * 86400) }) },
            { ...axis, size: 70, values: (_, splits) => (numbers.length ? splits.map(number) : []), label: within(data.label, data.unit), labelFont: axis.font, labelSize: 22 },
          ],
          series: [{}, { stroke: colour("--link"), width: 1, points: { show: true, size: 8, fill: colour("--link") } }],
          hooks: { drawAxes: [details], setCursor: [tell] },
        },
        [data.at, data.value],
        place,
      );
      chart.over.append(tip);
      chart.over.addEventListener("click", () => {
        if (chart.cursor.idx !== null && chart.cursor.idx !== undefined) location.assign(`/campaigns/${data.campaign[chart.cursor.idx]}`);
      });
    }
    draw();
    new ResizeObserver(() => { if (place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: place.clientHeight }); }).observe(place);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
}
