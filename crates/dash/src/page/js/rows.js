// One row per policy: its figures, charts and decisions.

const redraws = [];
const cursors = [];

function facts(track, small) {
  const figures = track.figures;
  const parts = [html("b", {}, megabytes(figures.bytes)), ", " + figures.goodput_mbps.toFixed(1) + "\u00a0Mb/s"];
  if (figures.longest_stall_ms === null) return parts;
  if (!figures.longest_stall_ms) return parts.concat(", no stall");
  const total = figures.stall_total_ms;
  const inAll = small ? "" : ", in all " + wait(total);
  return parts.concat(html("span", { class: "bad" }, ", longest stall " + wait(figures.longest_stall_ms) + inAll));
}

function decisionList(track) {
  if (!track.decisions.length) return null;
  const entries = track.decisions.map((decision) => {
    const button = html("button", { type: "button" },
      html("span", { class: "at" }, seconds(decision.t_ms)),
      html("span", {}, decision.link === null ? "" : links[decision.link].name),
      html("span", {}, decision.verb),
      html("span", { class: "why" }, decision.why));
    button.addEventListener("click", () => setTime(decision.t_ms));
    return html("li", {}, button);
  });
  const count = track.decisions.length;
  return html("details", {}, html("summary", {}, `${count} decision${count > 1 ? "s" : ""}, with reasons`),
    html("ul", { class: "decisions" }, ...entries));
}

function addChart(row, draw) {
  const holder = html("div", { class: "chart" });
  row.append(holder);
  const slot = cursors.push(() => {}) - 1;
  redraws.push(() => {
    if (holder.clientWidth) cursors[slot] = draw(holder);
  });
}

function addRow(parent, track, small) {
  const row = html("article", { class: "row" + (track.ours ? " ours" : ""), "aria-label": track.label },
    html("div", { class: "row-head" },
      html("h3", {}, track.label),
      small ? null : html("span", { class: "what" }, track.sentence),
      html("span", { class: "facts" }, ...facts(track, small))));
  addChart(row, (holder) => drawChart(holder, track, small));
  if (!small && levelsOf(track).length) addChart(row, (holder) => drawLevels(holder, track));
  const decisions = small ? null : decisionList(track);
  if (decisions) row.append(decisions);
  parent.append(row);
}

function redraw() {
  redraws.forEach((draw) => draw());
  cursors.forEach((cursor) => cursor(clock.t));
}

// Hatching marks stalls for readers who cannot distinguish red.
function defineHatch() {
  const stripe = svg("rect", { width: 2.2, height: 6 });
  stripe.style.fill = "var(--stall)";
  stripe.style.opacity = "0.75";
  const ground = svg("rect", { width: 6, height: 6 });
  ground.style.fill = "var(--stall-soft)";
  document.body.prepend(svg("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position:absolute" },
    svg("defs", {}, svg("pattern", {
      id: "stall-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
    }, ground, stripe))));
}

function drawRows() {
  defineHatch();
  main.forEach((track) => addRow(byId("rows"), track, false));
  singles.forEach((track) => addRow(byId("single-rows"), track, true));
  byId("singles").hidden = !singles.length;
  redraw();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redraw();
    width = innerWidth;
  });
  byId("singles").addEventListener("toggle", redraw);
  clock.listeners.push((t) => cursors.forEach((cursor) => cursor(t)));
}
