// What all charts share: the colours of the page's theme, one for each queue or scheme, and drawing anew when theme or width change.
"use strict";
{
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  /** A queue's or a scheme's own colour; whatever else there is gets one that no queue has. */
  function colour(series, place) {
    if (series.colour) return css(`--${series.colour}`);
    return `hsl(${(200 + place * 137.5) % 360} ${dark() ? "55% 68%" : "60% 36%"})`;
  }

  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
    const [whole, part] = String(Number(value.toPrecision(4))).split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (part ? `.${part}` : "");
  };

  const font = () => `12px ${getComputedStyle(document.body).fontFamily}`;

  function axis(label, more = {}) {
    return { stroke: css("--soft"), font: font(), labelFont: font(), label, labelSize: 20, labelGap: 2, grid: { stroke: css("--hair"), width: 1 }, ticks: { stroke: css("--hair"), width: 1, size: 4 }, gap: 4, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))), ...more };
  }

  const said = (unit) => (unit === "us" ? "µs" : unit);
  const within = (name, unit) => (unit ? `${name} [${said(unit)}]` : name);
  const drawn = new Set();

  /** Draw into a place, and again whenever theme or width change. make(width) gives a uPlot. */
  function chart(place, make) {
    let plot = null;
    let width = 0;
    const draw = () => {
      width = place.clientWidth;
      if (!width) return;
      plot?.destroy();
      plot = make(width);
    };
    const watch = new ResizeObserver(() => { if (Math.abs(place.clientWidth - width) > 1) draw(); });
    draw();
    watch.observe(place);
    const made = { draw, get plot() { return plot; }, remove() { watch.disconnect(); plot?.destroy(); drawn.delete(made); } };
    drawn.add(made);
    return made;
  }

  const again = () => { for (const one of drawn) one.draw(); };
  new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  /** The keys of the series, which show and hide them. */
  function keys(series, hidden, changed) {
    const list = document.createElement("ul");
    list.className = "keys";
    series.forEach((one, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(one.label)));
      const key = document.createElement("span");
      key.className = one.colour ? `key ${one.colour}` : "key";
      if (!one.colour) key.style.background = colour(one, place);
      button.append(key, one.label);
      button.addEventListener("click", () => {
        if (hidden.has(one.label)) hidden.delete(one.label); else hidden.add(one.label);
        button.setAttribute("aria-pressed", String(!hidden.has(one.label)));
        changed();
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    });
    return list;
  }

  rackproof.charts = { css, dark, colour, number, axis, said, within, chart, keys };
}
