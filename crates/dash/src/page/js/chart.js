// Throughput per link over time, with stalls, faults, link use and decisions.

const LEFT = 40;
const RIGHT = 8;
const LANE = 6;
const LANE_WIDTH = { active: 4.2, backup: 2.4, up: 0.9 };

const xScale = (width) => (ms) => LEFT + (ms / duration) * (width - LEFT - RIGHT);

const FINEST = 2.5;

// Averages neighbouring steps, so that points are at least `FINEST` pixels apart.
function thinned(series, each) {
  if (each === 1) return series;
  const means = [];
  for (let step = 0; step < series.length; step += each) {
    const part = series.slice(step, step + each);
    means.push(part.reduce((sum, value) => sum + value, 0) / part.length);
  }
  return means;
}

function areas(track, x, y) {
  const steps = track.goodput_kbps.length;
  const each = Math.max(1, Math.ceil((FINEST * steps) / (x(steps * bin) - x(0))));
  let floor = new Array(Math.ceil(steps / each)).fill(0);
  return track.layers.map((layer) => {
    const means = thinned(layer.kbps, each);
    const roof = floor.map((base, step) => base + means[step]);
    const at = (step) => x(Math.min((step + 0.5) * each, steps) * bin).toFixed(1);
    const up = roof.map((value, step) => at(step) + "," + y(value).toFixed(1));
    const down = floor.map((value, step) => at(step) + "," + y(value).toFixed(1)).reverse();
    floor = roof;
    const path = svg("path", { d: "M" + up.concat(down).join("L") + "Z", class: "band" });
    path.style.fill = layer.colour;
    return path;
  });
}

function axes(x, y, height, small) {
  const marks = [];
  const step = niceStep(topKbps, small ? 2 : 3);
  for (let value = 0; value <= topKbps + 1; value += step) {
    marks.push(svg("line", { x1: x(0), x2: x(duration), y1: y(value), y2: y(value), class: value ? "grid" : "axis" }));
    marks.push(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value / 1000)));
  }
  const every = niceStep(duration / 1000, small ? 4 : (x(duration) - LEFT) / 90) * 1000;
  for (let t = 0; t <= duration; t += every) {
    const last = t + every > duration;
    marks.push(svg("text", { x: x(t), y: height - 2, "text-anchor": t === 0 ? "start" : last ? "end" : "middle" },
      t === 0 ? "0" : t / 1000 + "\u00a0s"));
  }
  return marks;
}

const stallLength = (stall) => stall.to_ms - stall.from_ms;

function stallMarks(track, x, top, bottom) {
  const marks = track.stalls.flatMap((stall) => {
    const left = x(stall.from_ms);
    const width = Math.max(1.5, x(stall.to_ms) - left);
    return [
      svg("rect", { x: left, y: top, width, height: bottom - top, class: "stall" },
        svg("title", {}, "stall of " + wait(stallLength(stall)))),
      svg("rect", { x: left, y: top - 3, width, height: 3, class: "stall-top" }),
    ];
  });
  return marks.concat(stallTexts(track, x, top));
}

// Labels the longest stalls with their length. A label that would cover another one is left to the tooltip.
function stallTexts(track, x, top) {
  const taken = [];
  return [...track.stalls].sort((a, b) => stallLength(b) - stallLength(a)).map((stall) => {
    const text = wait(stallLength(stall));
    const half = text.length * 3.6 + 3;
    const at = clamp(x((stall.from_ms + stall.to_ms) / 2), LEFT + half, x(duration) - half);
    if (taken.some((other) => Math.abs(other.at - at) < other.half + half)) return null;
    taken.push({ at, half });
    return svg("text", { x: at, y: top - 6, "text-anchor": "middle", class: "stall-text" }, text);
  });
}

function faultMarks(track, x, top, bottom) {
  // A run on one link shows only the faults of that link.
  const concerning = track.faults.filter((fault) => !track.only_link || links[fault.link].name === track.only_link);
  return concerning.flatMap((fault) => {
    const late = fault.t_ms > duration * 0.7;
    const said = { x: x(fault.t_ms) + (late ? -4 : 4), y: bottom - 5, class: "fault-text", "text-anchor": late ? "end" : "start" };
    return [
      svg("line", { x1: x(fault.t_ms), x2: x(fault.t_ms), y1: top, y2: bottom, class: "fault" }),
      svg("text", said, links[fault.link].name + " " + fault.what),
    ];
  });
}

// Only links that were used, or that a decision was about, get a lane.
function laneOrder(track) {
  const used = new Set(track.lanes.map((span) => span.link));
  track.decisions.forEach((decision) => decision.link !== null && used.add(decision.link));
  return [...used].sort((a, b) => a - b);
}

function laneMarks(track, lanes, x, top) {
  const y = (link) => top + lanes.indexOf(link) * LANE + LANE / 2;
  const spans = track.lanes.filter((span) => lanes.includes(span.link)).map((span) => {
    const line = svg("line", {
      x1: x(span.from_ms), x2: x(span.to_ms), y1: y(span.link), y2: y(span.link),
      "stroke-width": LANE_WIDTH[span.level], opacity: span.level === "active" ? 1 : 0.7,
    });
    line.style.stroke = colours[span.link];
    return line;
  });
  const dots = track.decisions.map((decision, index) => {
    if (!lanes.length) return null;
    const at = decision.link === null ? top - 2 : y(decision.link);
    const dot = svg("circle", { cx: x(decision.t_ms), cy: at, r: 3.4, class: "decision", "data-decision": index });
    dot.style.fill = "var(--text)";
    return dot;
  });
  return spans.concat(dots);
}

function describe(track) {
  const stalls = track.stalls.length;
  const waits = stalls ? `${stalls} stall${stalls > 1 ? "s" : ""}` : "no stall";
  return `${track.label}: ${megabytes(track.figures.bytes)} in ${seconds(duration, 0)}, ${waits}; throughput per link over time`;
}

// Draws a track into `holder`, `width` pixels wide. Returns a function that moves the cursor.
function drawChart(holder, track, small) {
  const width = Math.max(240, holder.clientWidth);
  const top = 18;
  const plot = small ? 62 : 112;
  const lanes = small ? [] : laneOrder(track);
  const laneTop = top + plot + 5;
  const height = laneTop + lanes.length * LANE + 18;
  const x = xScale(width);
  const y = (kbps) => top + plot - (Math.min(kbps, topKbps) / topKbps) * plot;
  const cursor = svg("line", { y1: top - 4, y2: laneTop + lanes.length * LANE, class: "cursor" });
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(track) },
    ...axes(x, y, height, small), ...areas(track, x, y), ...stallMarks(track, x, top, top + plot),
    ...faultMarks(track, x, top, top + plot), ...laneMarks(track, lanes, x, laneTop), cursor);
  holder.replaceChildren(picture);
  listen(picture, track, width);
  return (t) => {
    cursor.setAttribute("x1", x(t));
    cursor.setAttribute("x2", x(t));
  };
}

function listen(picture, track, width) {
  const timeOf = (event) => {
    const box = picture.getBoundingClientRect();
    return clamp(((event.clientX - box.left - LEFT) / (width - LEFT - RIGHT)) * duration, 0, duration);
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    setTime(timeOf(event));
  });
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons) setTime(timeOf(event));
    const near = nearestDecision(track, timeOf(event), event.target);
    showTip(event.clientX, event.clientY, near ? decisionTip(near) : tipAt(track, timeOf(event)));
  });
  picture.addEventListener("pointerleave", hideTip);
  picture.addEventListener("pointercancel", hideTip);
}

function nearestDecision(track, t, target) {
  const index = target.getAttribute && target.getAttribute("data-decision");
  return index === null || index === undefined ? null : track.decisions[Number(index)];
}

const decisionTip = (decision) => [
  html("b", {}, `${seconds(decision.t_ms)} ${decision.verb} ${decision.link === null ? "" : links[decision.link].name}`),
  html("div", {}, decision.why),
];
