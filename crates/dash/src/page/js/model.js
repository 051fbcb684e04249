// The comparison data, and queries about it at a given time.

const data = JSON.parse(byId("data").textContent);
const links = data.plan.links;
const tracks = data.tracks;
const duration = Math.max(1, data.duration_ms);
const bin = data.bin_ms;

// WiFi and cables take the colours in order. Cellular takes greys, because it is always present and should
// recede.
const colours = (() => {
  let next = 0;
  let grey = 0;
  return links.map((link) => (link.kind === "cell" ? `var(--cell${grey++ % 2})` : `var(--link${next++ % 7})`));
})();

const kindWord = { wifi: "WiFi", cell: "cellular", cable: "cable" };

function linkFacts(link) {
  const facts = [kindWord[link.kind]];
  if (link.standard) facts.push(link.kind === "wifi" ? "802.11" + link.standard : link.standard);
  if (link.channel) facts.push("channel " + link.channel);
  if (link.rate_mbps) facts.push(link.rate_mbps + "\u00a0Mb/s");
  if (link.delay_ms) facts.push(link.delay_ms + "\u00a0ms");
  return facts.join(", ");
}

// Received rate as layers of a stack. A run without per-link samples is one layer.
function layersOf(track) {
  if (track.paths.length) {
    return track.paths.map((path) => ({ link: path.link, kbps: path.kbps, colour: colours[path.link] }));
  }
  const own = links.findIndex((link) => link.name === track.only_link);
  return [{ link: own < 0 ? null : own, kbps: track.goodput_kbps, colour: own < 0 ? "var(--other)" : colours[own] }];
}

tracks.forEach((track) => {
  track.layers = layersOf(track);
  let sum = 0;
  track.readSoFar = track.goodput_kbps.map((kbps) => (sum += (kbps * bin) / 8));
});

const singles = tracks.filter((track) => track.only_link);
const main = tracks.filter((track) => !track.only_link);

// Mean of a series over the second before `t`, so that the displayed figures change slowly enough to read.
function meanBefore(series, t) {
  const last = clamp(Math.ceil(t / bin), 1, series.length);
  const first = Math.max(0, last - Math.max(1, Math.round(1000 / bin)));
  let sum = 0;
  for (let step = first; step < last; step++) sum += series[step];
  return last > first ? sum / (last - first) : 0;
}

const stallAt = (track, t) => track.stalls.find((stall) => stall.from_ms < t && t <= stall.to_ms);

function bytesAt(track, t) {
  const step = Math.ceil(t / bin) - 1;
  return step < 0 ? 0 : track.readSoFar[Math.min(step, track.readSoFar.length - 1)] || 0;
}

// Top of every rate axis. Bursts of a single step after a stall may exceed it.
const topKbps = (() => {
  const sums = [];
  for (const track of tracks) {
    for (let step = 0; step < track.goodput_kbps.length; step++) {
      sums.push(track.layers.reduce((sum, layer) => sum + layer.kbps[step], 0));
    }
  }
  sums.sort((a, b) => a - b);
  const high = sums[Math.floor(sums.length * 0.995)] || 1000;
  const step = niceStep(high, 3);
  return Math.ceil(high / step) * step;
})();

function positionAt(points, t) {
  if (!points || !points.length) return null;
  const s = t / 1000;
  let after = points.findIndex((point) => point.t_s > s);
  if (after < 0) after = points.length;
  if (after === 0) return points[0];
  const from = points[after - 1];
  const to = points[after];
  if (!to) return from;
  const share = to.t_s > from.t_s ? (s - from.t_s) / (to.t_s - from.t_s) : 1;
  return { x_m: from.x_m + (to.x_m - from.x_m) * share, y_m: from.y_m + (to.y_m - from.y_m) * share };
}

// Opens the page at the middle of the longest stall of a policy that is not ours and not a single network.
function openingTime() {
  const hash = /^#t=([0-9.]+)$/.exec(location.hash);
  if (hash) return clamp(parseFloat(hash[1]) * 1000, 0, duration);
  const waits = main.filter((track) => !track.ours).flatMap((track) => track.stalls);
  const longest = waits.sort((a, b) => b.to_ms - b.from_ms - (a.to_ms - a.from_ms))[0];
  return longest ? (longest.from_ms + longest.to_ms) / 2 : duration / 2;
}
