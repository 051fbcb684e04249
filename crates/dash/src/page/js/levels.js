// Chart of the server's send queue, its limit, and the out-of-order bytes at the client. Drawn only if the
// run recorded them.

const LEVELS = [
  { key: "queue_kb", name: "server queue", style: "queue" },
  { key: "window_kb", name: "window", style: "window" },
  { key: "held_kb", name: "out of order", style: "held" },
];

const topLevel = Math.max(1, ...tracks.flatMap((track) => LEVELS.flatMap((level) => track[level.key].map((kb) => kb || 0))));
const levelsOf = (track) => LEVELS.filter((level) => track[level.key].length);

// A line with gaps where the level is unknown.
function levelPath(series, x, y) {
  let pen = "M";
  return series.map((kb, step) => {
    if (kb === null) {
      pen = "M";
      return "";
    }
    const point = pen + x((step + 0.5) * bin).toFixed(1) + "," + y(kb).toFixed(1);
    pen = "L";
    return point;
  }).join("");
}

function drawLevels(holder, track) {
  const width = Math.max(240, holder.clientWidth);
  const top = 18;
  const plot = 56;
  const height = top + plot + 6;
  const x = xScale(width);
  const y = (kb) => top + plot - (kb / topLevel) * plot;
  const cursor = svg("line", { y1: top, y2: top + plot, class: "cursor" });
  const shown = levelsOf(track);
  const step = niceStep(topLevel, 3);
  const marks = [];
  for (let kb = 0; kb <= topLevel; kb += step) {
    marks.push(svg("line", { x1: x(0), x2: x(duration), y1: y(kb), y2: y(kb), class: kb ? "grid" : "axis" }));
    marks.push(svg("text", { x: LEFT - 6, y: y(kb) + 4, "text-anchor": "end" }, kb === 0 ? "0" : kb < 1000 ? kb + "k" : kb / 1000 + "M"));
  }
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${track.label}: bytes over time: ${shown.map((level) => level.name).join(", ")}`,
  }, ...marks,
    ...shown.map((level) => svg("path", { d: levelPath(track[level.key], x, y), class: "level level-" + level.style })),
    levelKey(shown), cursor);
  holder.replaceChildren(picture);
  listen(picture, track, width);
  return (t) => {
    cursor.setAttribute("x1", x(t));
    cursor.setAttribute("x2", x(t));
  };
}

function levelKey(shown) {
  let at = LEFT;
  const marks = shown.flatMap((level) => {
    const from = at;
    at += 36 + level.name.length * 6.9;
    return [
      svg("line", { x1: from, x2: from + 20, y1: 8, y2: 8, class: "level level-" + level.style }),
      svg("text", { x: from + 25, y: 12, class: "level-text" }, level.name),
    ];
  });
  return svg("g", {}, svg("text", { x: LEFT - 6, y: 12, "text-anchor": "end" }, "bytes"), ...marks);
}
