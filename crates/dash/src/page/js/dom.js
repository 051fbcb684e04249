// Creates elements, and formats numbers with their units.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

const seconds = (ms, digits = 1) => (ms / 1000).toFixed(digits) + "\u00a0s";
const wait = (ms) => (ms < 1000 ? Math.round(ms) + "\u00a0ms" : seconds(ms, ms < 10000 ? 2 : 1));
const mbps = (kbps) => (kbps / 1000).toFixed(1) + "\u00a0Mb/s";
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0) + "\u00a0MB";
const kilobytes = (kb) => (kb < 1000 ? kb + "\u00a0kB" : (kb / 1000).toFixed(1) + "\u00a0MB");

// Returns a round step (1, 2 or 5 times a power of ten) so that about `count` steps reach `top`.
function niceStep(top, count) {
  const rough = top / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const found = [1, 2, 5, 10].find((m) => m * power >= rough);
  return (found || 10) * power;
}
