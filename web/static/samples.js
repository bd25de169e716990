// Every frame of a trial: the service gives the least and largest delay of each span, so that a million frames stay smooth.
"use strict";
{
  const { colour, number, axis, chart, keys } = rackproof.charts;
  const HEIGHT = 380;
  const SETTLE_MS = 120;
  const label = ({ stream }) => (/^\d/.test(stream) ? `stream ${stream}` : stream);

  function samples(root) {
    const place = root.querySelector(".chart");
    const said = document.getElementById("samples-said");
    const hidden = new Set();
    let data = null;
    let made = null;
    let asked = 0;
    let timer = null;

    const draw = (plot) => {
      const context = plot.ctx;
      context.save();
      context.beginPath();
      context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
      context.clip();
      const many = data.streams.length > 1;
      data.streams.forEach((stream, place_) => {
        if (hidden.has(label(stream))) return;
        context.strokeStyle = colour(stream, place_);
        context.globalAlpha = many ? 0.75 : 1;
        const least = 3 * devicePixelRatio;
        context.lineWidth = Math.max(1.6, Math.min(3, plot.bbox.width / data.at.length / devicePixelRatio)) * devicePixelRatio;
        context.beginPath();
        for (let i = 0; i < data.at.length; i += 1) {
          if (stream.least[i] === null) continue;
          const x = plot.valToPos(data.at[i], "x", true);
          const low = plot.valToPos(stream.least[i], "y", true);
          const high = plot.valToPos(stream.largest[i], "y", true);
          const more = Math.max(0, least - (low - high)) / 2;
          context.moveTo(x, low + more);
          context.lineTo(x, high - more);
        }
        context.stroke();
      });
      context.restore();
    };

    function limits() {
      let high = 0;
      for (const stream of data.streams) if (!hidden.has(label(stream))) for (const value of stream.largest) if (value > high) high = value;
      return [0, high * 1.05 || 1];
    }

    const make = (width) => new uPlot({
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
      scales: { x: { time: false, range: [data.from, data.to] }, y: { range: limits() } },
      axes: [axis("arrival [s after the first frame]", { size: 30 }), axis("delay [µs]", { size: 64 })],
      series: [{}, ...data.streams.map(() => ({ paths: () => null, points: { show: false } }))],
      hooks: {
        draw: [draw],
        setSelect: [(plot) => {
          if (plot.select.width > 3) go(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        ready: [(plot) => plot.over.addEventListener("dblclick", () => go(0, data.until))],
      },
    }, [data.at, ...data.streams.map((stream) => stream.largest)], place);

    async function load(from, to, keep = true) {
      const mine = ++asked;
      const query = new URLSearchParams({ points: Math.max(100, Math.min(2000, Math.round(place.clientWidth * 0.9))) });
      if (from !== null) { query.set("from", from); query.set("to", to); }
      let response;
      try { response = await fetch(`${root.dataset.source}?${query}`); } catch { said.textContent = "the service does not answer; try again in a moment"; return; }
      if (!response.ok) { said.textContent = (await response.json()).detail; return; }
      const found = await response.json();
      if (mine !== asked) return;
      const first = data === null;
      data = found;
      const frames = data.streams.reduce((sum, stream) => sum + stream.frames, 0);
      said.textContent = `${frames.toLocaleString("en").replaceAll(",", " ")} of ${data.rows.toLocaleString("en").replaceAll(",", " ")} frames, ${number(data.from)} s to ${number(data.to)} s`;
      if (first) {
        const series = data.streams.map((stream) => ({ label: label(stream) }));
        if (series.length > 1) place.before(keys(series, hidden, () => made.draw()));
        place.setAttribute("role", "img");
        place.setAttribute("aria-label", "Delay of each frame over its arrival; the tables below have the numbers");
        made = chart(place, make);
      } else made.draw();
      if (keep) {
        const whole = data.from <= 0 && data.to >= data.until;
        history.replaceState(null, "", whole ? location.pathname : `?${new URLSearchParams({ from: Number(data.from.toPrecision(6)), to: Number(data.to.toPrecision(6)) })}`);
      }
    }

    function go(from, to) {
      const span = Math.max(1e-6, Math.min(data.until, to - from));
      const begin = Math.max(0, Math.min(from, data.until - span));
      clearTimeout(timer);
      timer = setTimeout(() => load(begin, begin + span), SETTLE_MS);
    }

    root.addEventListener("click", (event) => {
      const how = event.target.closest("[data-zoom]")?.dataset.zoom;
      if (!how || !data) return;
      const span = data.to - data.from;
      const middle = (data.from + data.to) / 2;
      if (how === "in") go(middle - span / 4, middle + span / 4);
      if (how === "out") go(middle - span, middle + span);
      if (how === "left") go(data.from - span / 2, data.to - span / 2);
      if (how === "right") go(data.from + span / 2, data.to + span / 2);
      if (how === "all") go(0, data.until);
    });
    const here = new URLSearchParams(location.search);
    load(here.get("from"), here.get("to"), false);
  }

  const root = document.getElementById("samples");
  if (root) samples(root);
}
