// Floor plan: walls, access points, the walk, and a line to each link that carries data at the current time.

// Narrow screens get a narrow drawing, so that its text keeps its size.
const PLAN_WIDTH = clamp(byId("plan").clientWidth, 330, 680);
const EDGE = PLAN_WIDTH < 480 ? 30 : 46;

function bounds() {
  const xs = [];
  const ys = [];
  const add = (x, y) => Number.isFinite(x) && Number.isFinite(y) && (xs.push(x), ys.push(y));
  links.forEach((link) => add(link.x_m, link.y_m));
  data.plan.walls.forEach(([x1, y1, x2, y2]) => (add(x1, y1), add(x2, y2)));
  data.plan.walkers.forEach((walker) => walker.points.forEach((point) => add(point.x_m, point.y_m)));
  if (!xs.length) return { left: 0, right: 40, low: 0, high: 9, known: false };
  const box = { left: Math.min(...xs), right: Math.max(...xs), low: Math.min(...ys), high: Math.max(...ys), known: true };
  const width = Math.max(10, box.right - box.left);
  // A walk along a straight line still needs a floor with some depth.
  const missing = Math.max(0, width * 0.22 - (box.high - box.low)) / 2;
  return { ...box, right: box.left + width, low: box.low - missing, high: box.high + missing };
}

function frame() {
  const box = bounds();
  const away = links.some((link) => !Number.isFinite(link.x_m));
  const top = EDGE + (away ? 58 : 0);
  const scale = Math.min((PLAN_WIDTH - 2 * EDGE) / (box.right - box.left), 400 / (box.high - box.low));
  const height = top + (box.high - box.low) * scale + EDGE;
  const indent = (PLAN_WIDTH - (box.right - box.left) * scale) / 2;
  const at = (x, y) => ({ x: indent + (x - box.left) * scale, y: top + (box.high - y) * scale });
  return { box, scale, height, at };
}

// Places links without a position (cellular, cables) along the upper edge.
function places({ at }) {
  const away = links.filter((link) => !Number.isFinite(link.x_m));
  return links.map((link) => {
    if (Number.isFinite(link.x_m)) return at(link.x_m, link.y_m);
    return { x: ((away.indexOf(link) + 1) / (away.length + 1)) * PLAN_WIDTH, y: 30 };
  });
}

const ICONS = {
  wifi: "M-9-3A13 13 0 0 1 9-3M-5.5 1.2A8 8 0 0 1 5.5 1.2M0 6h.01",
  cell: "M-7 7V4M-2.3 7V0M2.4 7V-4M7 7V-8",
  cable: "M-8 5H-3V-4H3V5H8M0-4V-8",
};

function linkIcon(link, index, place) {
  const disc = svg("circle", { r: 16 });
  disc.style.fill = colours[index];
  const icon = svg("path", { d: ICONS[link.kind], fill: "none", stroke: "#fff", "stroke-width": 2.4, "stroke-linecap": "round", "stroke-linejoin": "round" });
  const above = place.y > 60 && Number.isFinite(link.x_m);
  return svg("g", { transform: `translate(${place.x} ${place.y})` }, disc, icon,
    svg("text", { class: "ap-name", x: above ? 0 : 22, y: above ? -22 : 5, "text-anchor": above ? "middle" : "start" }, link.name),
    svg("title", {}, `${link.name}: ${linkFacts(link)}`));
}

function scaleBar({ box, scale, height }) {
  if (!box.known) return null;
  const metres = niceStep((box.right - box.left) / 2, 3);
  const length = metres * scale;
  return svg("g", {},
    svg("path", { d: `M14 ${height - 18}v5h${length}v-5`, fill: "none", stroke: "var(--soft)" }),
    svg("text", { x: 14 + length / 2, y: height - 18, "text-anchor": "middle" }, metres + "\u00a0m"));
}

const line = (points) => points.map((point, index) => (index ? "L" : "M") + point.x.toFixed(1) + "," + point.y.toFixed(1)).join("");

// Returns the offset that puts a time label on the side away from the nearest access point.
function clearSide(here, spots) {
  const nearest = (y) => Math.min(...spots.map((spot) => Math.hypot(spot.x - here.x, spot.y - 8 - y)));
  return nearest(here.y + 18) >= nearest(here.y - 14) ? 17 : -9;
}

function walkMarks(walker, { at }, spots) {
  const points = walker.points.map((point) => at(point.x_m, point.y_m));
  const marks = [svg("path", { d: line(points), class: "walk" })];
  const every = niceStep(duration / 1000, 6) * 1000;
  for (let t = every; t < duration; t += every) {
    const spot = positionAt(walker.points, t);
    const here = at(spot.x_m, spot.y_m);
    marks.push(svg("circle", { cx: here.x, cy: here.y, r: 3, class: "tick" }));
    marks.push(svg("text", { x: here.x, y: here.y + clearSide(here, spots), "text-anchor": "middle" }, t / 1000 + "\u00a0s"));
  }
  return marks;
}

// Path walked so far: the waypoints before `t`, then the position at `t`.
function walkedPath(walker, t, { at }) {
  const gone = walker.points.filter((point) => point.t_s * 1000 <= t).concat(positionAt(walker.points, t) || []);
  return gone.length > 1 ? line(gone.map((point) => at(point.x_m, point.y_m))) : "";
}

function drawPlan() {
  const view = frame();
  const spots = places(view);
  const client = data.plan.walkers[0];
  const spokes = links.map((link, index) => {
    const spoke = svg("line", { "stroke-linecap": "round" });
    spoke.style.stroke = colours[index];
    return spoke;
  });
  const walked = svg("path", { class: "walked" });
  const said = svg("text", { class: "said", y: 34, "text-anchor": "middle" });
  const me = svg("g", {}, svg("circle", { r: 17, class: "halo" }), svg("circle", { r: 8.5, class: "me", id: "walker" }), said);
  byId("plan").append(svg("svg", {
    viewBox: `0 0 ${PLAN_WIDTH} ${view.height.toFixed(0)}`, role: "img",
    "aria-label": `Floor plan of ${data.scenario}: ${links.map((link) => link.name).join(", ")}`,
  },
    ...data.plan.walls.map(([x1, y1, x2, y2]) => {
      const [from, to] = [view.at(x1, y1), view.at(x2, y2)];
      return svg("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: "wall" });
    }),
    ...data.plan.walkers.flatMap((walker) => walkMarks(walker, view, spots)),
    walked, ...spokes, ...links.map((link, index) => linkIcon(link, index, spots[index])), me, scaleBar(view)));
  clock.listeners.push(updateWhy, (t) => {
    const spot = client && positionAt(client.points, t);
    const here = spot ? view.at(spot.x_m, spot.y_m) : { x: PLAN_WIDTH / 2, y: view.height - EDGE };
    if (client) walked.setAttribute("d", walkedPath(client, t, view));
    me.setAttribute("transform", `translate(${here.x} ${here.y})`);
    updateSpokes(spokes, spots, here, t);
    const stall = stallAt(chosen.track, t);
    me.classList.toggle("waiting", Boolean(stall));
    said.textContent = stall ? "waiting " + wait(t - stall.from_ms) : "";
  });
}

// Line width follows the rate. A link that carries nothing has no line.
function updateSpokes(spokes, spots, here, t) {
  spokes.forEach((spoke, index) => {
    const layer = chosen.track.layers.find((candidate) => candidate.link === index);
    const rate = layer ? meanBefore(layer.kbps, t) : 0;
    const width = rate > 20 ? 1.5 + 10 * Math.sqrt(rate / topKbps) : 0;
    spoke.setAttribute("stroke-width", width.toFixed(1));
    spoke.setAttribute("opacity", width ? 0.8 : 0);
    [["x1", here.x], ["y1", here.y], ["x2", spots[index].x], ["y2", spots[index].y]]
      .forEach(([name, value]) => spoke.setAttribute(name, value.toFixed(1)));
  });
}

// Shows the latest decision of the chosen policy at time `t`.
function updateWhy(t) {
  const last = chosen.track.decisions.filter((decision) => decision.t_ms <= t).pop();
  const said = last ? [html("b", {}, `${chosen.track.label}, ${seconds(last.t_ms)}: ${last.verb} ${last.link === null ? "" : links[last.link].name}`), ". " + last.why + "."]
    : [html("b", {}, chosen.track.label), ": " + chosen.track.sentence + "."];
  byId("why").replaceChildren(...said);
}

function drawLegend() {
  byId("legend").append(...links.map((link, index) =>
    html("li", {}, swatch(colours[index]), link.name, html("small", {}, linkFacts(link)))));
}
