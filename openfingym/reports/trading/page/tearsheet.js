"use strict";
// A cursor that all charts of a group share: by pointer, by arrow keys on a focused chart, or by an address ending in #row=120.
(() => {
  const say = document.getElementById("say");
  const read = (node) => JSON.parse(node.textContent);
  const shown = (value, unit) => {
    if (unit === "%") return `${(100 * value).toFixed(2)}%`;
    return unit === "x" ? `${value.toFixed(2)}×` : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
  };

  const nearest = (points, row) => {
    let low = 0;
    let high = points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low > 0 && row - points[low - 1] < points[low] - row ? low - 1 : low;
  };

  const groups = [...document.querySelectorAll("section[data-axis]")].map((section) => {
    const axis = read(section.querySelector("script.axis"));
    const charts = [...section.querySelectorAll("figure.chart")].map((figure) => ({
      figure,
      data: read(figure.querySelector("script.data")),
      cursor: figure.querySelector(".cursor"),
      moment: figure.querySelector(".moment"),
      values: [...figure.querySelectorAll(".key b")],
      plot: figure.querySelector(".plot > svg"),
    }));
    let at = null;

    const show = (index) => {
      at = index;
      const x = index === null ? 0 : (100 * axis.points[index]) / Math.max(axis.last, 1);
      for (const chart of charts) {
        chart.figure.classList.toggle("reading", index !== null);
        chart.cursor.setAttribute("x1", `${x}%`);
        chart.cursor.setAttribute("x2", `${x}%`);
        chart.moment.textContent = index === null ? "" : axis.labels[index];
        chart.values.forEach((node, line) => {
          node.textContent = index === null ? "" : shown(chart.data.values[line][index], chart.data.unit);
        });
      }
    };

    const speak = (chart) => {
      const names = [...chart.figure.querySelectorAll(".key")].map((key) => key.textContent);
      say.textContent = at === null ? "" : `${axis.labels[at]}: ${names.join(", ")}`;
    };

    for (const chart of charts) {
      chart.plot.parentNode.addEventListener("pointermove", (event) => {
        const box = chart.plot.getBoundingClientRect();
        const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
        show(nearest(axis.points, share * axis.last));
      });
      chart.plot.parentNode.addEventListener("pointerleave", () => show(null));
      chart.figure.addEventListener("keydown", (event) => {
        const last = axis.points.length - 1;
        const by = event.shiftKey ? Math.max(1, Math.round(last / 20)) : 1;
        const moves = { ArrowLeft: (at ?? last + by) - by, ArrowRight: (at ?? -by) + by, Home: 0, End: last };
        if (event.key === "Escape") show(null);
        else if (event.key in moves) show(Math.min(last, Math.max(0, moves[event.key])));
        else return;
        event.preventDefault();
        speak(chart);
      });
    }
    return { axis, show };
  });

  const follow = () => {
    const row = /^#row=(\d+)$/.exec(location.hash);
    if (row && groups.length) groups[0].show(nearest(groups[0].axis.points, Number(row[1])));
  };
  addEventListener("hashchange", follow);
  follow();
  document.documentElement.dataset.charts = document.querySelectorAll("figure").length;
})();
