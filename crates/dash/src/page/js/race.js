// Current rate of every policy. The plan shows the chosen one.

const chosen = { track: main[0] || tracks[0] };

function addRunner(parent, track) {
  const now = html("span", { class: "now" });
  const bar = html("span", { class: "bar", "aria-hidden": "true" });
  const pieces = track.layers.map((layer) => {
    const piece = html("i");
    piece.style.background = layer.colour;
    bar.append(piece);
    return piece;
  });
  const button = html("button", { type: "button", class: "runner", "aria-pressed": String(track === chosen.track) },
    html("span", { class: "who" }, track.label), now, bar);
  button.addEventListener("click", () => choose(track));
  parent.append(button);
  return { track, button, now, pieces };
}

let runners = [];

function choose(track) {
  chosen.track = track;
  runners.forEach((runner) => runner.button.setAttribute("aria-pressed", String(runner.track === track)));
  setTime(clock.t);
}

function updateRunner(runner, t) {
  const rates = runner.track.layers.map((layer) => meanBefore(layer.kbps, t));
  runner.pieces.forEach((piece, index) => (piece.style.width = clamp((rates[index] / topKbps) * 100, 0, 100) + "%"));
  const stall = stallAt(runner.track, t);
  runner.now.classList.toggle("waits", Boolean(stall));
  const read = megabytes(bytesAt(runner.track, t));
  const rate = meanBefore(runner.track.goodput_kbps, t);
  runner.now.replaceChildren(stall ? "waiting " + wait(t - stall.from_ms) : mbps(rate), " \u00b7 ", html("b", {}, read));
}

function drawRace() {
  const parent = byId("race");
  parent.append(html("div", { class: "race-head" },
    html("span", {}, "Policy (choose one to see its links)"), html("span", {}, "now \u00b7 so far")));
  runners = main.map((track) => addRunner(parent, track));
  clock.listeners.push((t) => runners.forEach((runner) => updateRunner(runner, t)));
}
