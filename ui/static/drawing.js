// A view drawn by sigma, where the browser has WebGL.
/* global graphology, Sigma */

// Okabe & Ito: told apart by the colour-blind too.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a5195", "#8c6d31"];
const OTHER = "#7f8794";
const EDGE_LABELS_UP_TO = 60; // edges; more are a thicket of words

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** `legend`: [words, colour, count], the most frequent first, at the end the types beyond the colours and those of none. */
const typesOf = (nodes) => {
  const counts = new Map();
  for (const node of nodes) counts.set(node.type, (counts.get(node.type) ?? 0) + 1);
  const none = counts.get("") ?? 0;
  counts.delete("");
  const sorted = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const legend = sorted.slice(0, COLOURS.length).map(([type, count], at) => [type, COLOURS[at], count]);
  const colour = new Map(legend);
  const rest = sorted.slice(COLOURS.length).reduce((sum, [, count]) => sum + count, 0);
  if (rest) legend.push(["other types", OTHER, rest]);
  const plain = sorted.length ? OTHER : COLOURS[0];
  if (none) legend.push(["no type", plain, none]);
  colour.set("", plain);
  return { legend, colour };
};

const short = (text, most = 40) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** One line for all relations of one entity to another: they would lie on each other. */
const lines = (edges) => {
  const found = new Map();
  for (const { source, target, relation } of edges) {
    if (source === target) continue; // is in the table
    const key = JSON.stringify([source, target]);
    found.set(key, { source, target, relations: [...(found.get(key)?.relations ?? []), relation] });
  }
  return [...found.values()];
};

const canDraw = () => document.createElement("canvas").getContext("webgl2") !== null;

const loaded = (name) =>
  new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `/graph/static/vendor/${name}`;
    script.addEventListener("load", done);
    script.addEventListener("error", () => failed(new Error(`${name} can't be loaded`)));
    document.head.append(script);
  });

let libraries;
/** Sigma asks for WebGL as soon as it is loaded, and throws where there is none: so it is loaded where there is some. */
export const ready = () => {
  if (!canDraw()) return Promise.reject(new Error("no WebGL"));
  libraries ??= Promise.all(["graphology-0.26.0.umd.min.js", "sigma-3.0.3.min.js"].map(loaded));
  return libraries;
};

/** After `ready`. */
export const draw = (stage, view, onChoose) => {
  const { legend, colour } = typesOf(view.nodes);
  const graph = new graphology.MultiDirectedGraph();
  const wide = Math.max(0.5, stage.clientWidth / Math.max(1, stage.clientHeight)); // positions are of a square
  for (const node of view.nodes) {
    const size = 4 + 2.2 * Math.sqrt(Math.min(node.degree, 60));
    const shown = { x: node.x * wide, y: 1 - node.y, size, label: short(node.name), color: colour.get(node.type) ?? OTHER };
    graph.addNode(node.id, shown);
  }
  const drawn = lines(view.edges);
  for (const { source, target, relations } of drawn) {
    const [first, ...more] = relations;
    graph.addDirectedEdge(source, target, { size: 1.4, label: more.length ? `${first} +${more.length}` : first });
  }
  stage.replaceChildren();
  let chosen = "";
  let near = new Set();
  const sigma = new Sigma(graph, stage, {
    defaultEdgeType: "arrow",
    defaultEdgeColor: style("--edge"),
    labelColor: { color: style("--text") },
    edgeLabelColor: { color: style("--soft") },
    labelFont: "system-ui, sans-serif",
    edgeLabelFont: "system-ui, sans-serif",
    labelSize: 13,
    edgeLabelSize: 11,
    labelRenderedSizeThreshold: view.nodes.length > 150 ? 9 : 4,
    renderEdgeLabels: drawn.length <= EDGE_LABELS_UP_TO,
    stagePadding: 10,
    zIndex: true,
    defaultDrawNodeHover: () => {}, // the chosen one's label is drawn anyway
    nodeReducer: (node, data) => {
      if (!chosen) return data;
      if (node === chosen) return { ...data, highlighted: true, forceLabel: true, zIndex: 2 };
      return near.has(node) ? { ...data, forceLabel: near.size < 40, zIndex: 1 } : { ...data, color: style("--faint"), label: "" };
    },
    edgeReducer: (edge, data) => {
      if (!chosen || graph.hasExtremity(edge, chosen)) return { ...data, zIndex: 1 };
      return { ...data, color: style("--faint"), label: "" };
    },
  });
  const label = 110 / Math.max(1, stage.clientHeight); // room for what stands right of the last node
  sigma.setCustomBBox({ x: [0, wide + label], y: [0, 1] }).refresh();
  sigma.on("clickNode", ({ node }) => onChoose(node));
  sigma.on("enterNode", () => stage.classList.add("over"));
  sigma.on("leaveNode", () => stage.classList.remove("over"));
  return {
    types: legend,
    kill: () => sigma.kill(),
    choose: (node) => {
      chosen = node;
      near = new Set(graph.neighbors(node));
      sigma.refresh();
    },
    nearer: () => sigma.getCamera().animatedZoom(),
    farther: () => sigma.getCamera().animatedUnzoom(),
    whole: () => sigma.getCamera().animatedReset(),
  };
};
