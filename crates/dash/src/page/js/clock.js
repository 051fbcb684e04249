// One time for the whole page, and the bar that sets it.

const clock = { t: 0, playing: false, listeners: [] };
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function setTime(t) {
  clock.t = clamp(t, 0, duration);
  clock.listeners.forEach((listener) => listener(clock.t));
}

function playerBar() {
  const button = html("button", { type: "button", id: "play", "aria-label": "Play the run" }, "\u25b6 Play");
  const slider = html("input", {
    type: "range", id: "time", min: 0, max: duration, step: bin, "aria-label": "Time in the run",
  });
  const shown = html("output", { for: "time" });
  const speed = html("select", { id: "speed", "aria-label": "Speed" },
    ...[1, 4, 10].map((times) => html("option", { value: times }, times + "\u00d7")));
  speed.value = "4";
  byId("player").append(html("div", { class: "player-bar" }, button, slider, speed, shown));
  byId("player").hidden = false;
  return { button, slider, shown, speed };
}

function startClock() {
  const { button, slider, shown, speed } = playerBar();
  let before = null;

  function show(playing) {
    clock.playing = playing;
    button.textContent = playing ? "\u275a\u275a Pause" : "\u25b6 Play";
    button.setAttribute("aria-label", playing ? "Pause" : "Play the run");
  }

  function frame(now) {
    if (!clock.playing) return;
    const passed = before === null ? 0 : (now - before) * Number(speed.value);
    // With reduced motion, update once a second instead of at every frame.
    if (before === null || !calm.matches || passed >= 1000 * Number(speed.value)) {
      before = now;
      setTime(clock.t + passed);
    }
    if (clock.t >= duration) show(false);
    else requestAnimationFrame(frame);
  }

  function toggle() {
    if (!clock.playing && clock.t >= duration) setTime(0);
    before = null;
    show(!clock.playing);
    if (clock.playing) requestAnimationFrame(frame);
  }

  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => setTime(Number(slider.value)));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, button, summary, textarea, .scroll");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") toggle();
    else if (event.key === "ArrowLeft") setTime(clock.t - (event.shiftKey ? 1000 : bin));
    else if (event.key === "ArrowRight") setTime(clock.t + (event.shiftKey ? 1000 : bin));
    else return;
    event.preventDefault();
  });
  clock.listeners.push((t) => {
    slider.value = t;
    slider.setAttribute("aria-valuetext", seconds(t) + " of " + seconds(duration, 0));
    shown.replaceChildren(seconds(t), html("span", { class: "of" }, " / " + seconds(duration, 0)));
  });
}
