// The tooltip of the page.

const tip = byId("tip");

function showTip(x, y, children) {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  tip.style.left = clamp(left, 6, Math.max(6, innerWidth - box.width - 6)) + "px";
  tip.style.top = clamp(y + 14, 6, Math.max(6, innerHeight - box.height - 6)) + "px";
}

const hideTip = () => (tip.hidden = true);
const swatch = (colour) => {
  const mark = html("span", { class: "swatch", "aria-hidden": "true" });
  mark.style.background = colour;
  return mark;
};

function tipAt(track, t) {
  const step = clamp(Math.floor(t / bin), 0, Math.max(0, track.goodput_kbps.length - 1));
  const stall = stallAt(track, t);
  const lines = track.layers
    .filter((layer) => layer.kbps[step] > 0)
    .map((layer) => html("div", {}, swatch(layer.colour),
      (layer.link === null ? "" : links[layer.link].name + ": ") + mbps(layer.kbps[step])));
  return [
    html("b", {}, seconds(t)),
    stall ? html("div", {}, "waiting: " + wait(stall.to_ms - stall.from_ms)) : null,
    ...lines,
    lines.length || stall ? null : html("div", {}, "no data"),
  ].filter(Boolean);
}
