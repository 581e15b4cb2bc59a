// The network: nodes in tiers with hosts at the bottom, and links coloured by utilisation.

const busier = (link, scheme) => Math.max(link.up[scheme], link.down[scheme]);
function fabricLayout(plot, width) {
  const tiers = largest(plot.nodes.map(node => node.tier));
  const dense = plot.nodes.length > 120;
  const gap = tiers > 0 ? clamp(260 / tiers, 76, 120) : 0;
  const top = 44;
  const place = node => ({ x: 12 + node.x * (width - 24), y: top + (tiers - node.tier) * gap });
  return { tiers, dense, gap, top, at: plot.nodes.map(place), height: top + tiers * gap + 34 };
}

function drawFabric(plot, state, width) {
  const schemes = range(plot.hottest.length).filter(at => !state.hidden.has(at));
  const columns = schemes.length > 1 && width >= 720 && plot.nodes.length < 60 ? 2 : 1;
  const gap = 24;
  const wide = (width - gap * (columns - 1)) / columns;
  const layout = fabricLayout(plot, wide);
  const parts = [];
  const panels = schemes.map((scheme, rank) => {
    const [x, y] = [(rank % columns) * (wide + gap), Math.floor(rank / columns) * layout.height];
    parts.push(fabricPanel(plot, state, layout, scheme, x, y, wide));
    return { scheme, x, y };
  });
  const height = Math.max(10, Math.ceil(schemes.length / columns) * layout.height);
  return { height, parts, ...fabricCursor(plot, state, layout, panels) };
}

// The links of a scheme. Other schemes may have nodes that this one does not have.
function linksOf(plot, scheme) {
  const known = (link, at) => link.up[at] >= 0 || link.down[at] >= 0;
  return plot.links.filter(link => known(link, scheme) || !link.up.some((_, at) => known(link, at)));
}

function fabricPanel(plot, state, layout, scheme, x, y, wide) {
  const group = svg('g', { transform: `translate(${px(x)} ${px(y)})` });
  group.append(text(0, 12, state.schemes[scheme], { class: 'title' }));
  const order = linksOf(plot, scheme).sort((a, b) => busier(a, scheme) - busier(b, scheme));
  for (const link of order) {
    if (!plot.both) group.append(fabricLine(layout, link, busier(link, scheme), 0));
    else group.append(fabricLine(layout, link, link.up[scheme], -1.8), fabricLine(layout, link, link.down[scheme], 1.8));
  }
  const there = new Set(order.flatMap(link => [link.top, link.bottom]));
  for (const at of there) group.append(fabricNode(plot.nodes[at], layout.at[at], layout.dense));
  for (const tier of range(layout.tiers + 1)) group.append(...tierLabels(plot, layout, tier, wide, there));
  return group;
}

// `aside`: pixels to the side, if both directions are drawn.
function fabricLine(layout, link, permille, aside) {
  const [a, b] = [layout.at[link.bottom], layout.at[link.top]];
  const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [dx, dy] = [(b.y - a.y) / long * aside, -(b.x - a.x) / long * aside];
  const used = Math.max(0, permille) / 1000;
  const thin = layout.dense ? 0.4 : 1;
  return svg('path', {
    class: `link data l${permille < 0 ? 'none' : Math.min(9, Math.floor(used * 10))}`,
    d: `M${px(a.x + dx)} ${px(a.y + dy)}L${px(b.x + dx)} ${px(b.y + dy)}`,
    'stroke-width': px(thin + used * (layout.dense ? 2 : 3.5)),
  });
}

function fabricNode(node, { x, y }, dense) {
  const size = dense ? 2.5 : 5;
  if (node.tier === 0 && node.hosts < 2) return svg('circle', { class: 'node host', cx: px(x), cy: px(y), r: size * 0.8 });
  return svg('rect', { class: 'node', x: px(x - size), y: px(y - size * 0.75), width: 2 * size, height: 1.5 * size, rx: 1.5 });
}

const nodeName = node => node.name;

// The names of a tier if there is room; otherwise the first, the last and their number.
function tierLabels(plot, layout, tier, wide, there) {
  const nodes = range(plot.nodes.length).filter(at => plot.nodes[at].tier === tier && there.has(at));
  nodes.sort((a, b) => plot.nodes[a].x - plot.nodes[b].x);
  const below = tier === 0 ? 20 : -12;
  const room = wide / Math.max(1, nodes.length);
  const fits = nodes.every(at => widthOf(nodeName(plot.nodes[at]), 11) + 4 < room);
  const label = (at, content, anchor, x) => text(x === undefined ? layout.at[at].x : x, layout.at[at].y + below, content, { class: 'tiny halo', 'text-anchor': anchor });
  if (fits) return nodes.map(at => label(at, nodeName(plot.nodes[at]), 'middle'));
  if (!nodes.length) return [];
  const hosts = nodes.reduce((sum, at) => sum + plot.nodes[at].hosts, 0);
  const [first, last] = [plot.nodes[nodes[0]], plot.nodes[nodes[nodes.length - 1]]];
  const count = tier === 0 ? `${grouped(hosts)} hosts` : `${nodes.length} switches`;
  const content = `${first.name.split(' … ')[0]} … ${last.name.split(' … ').pop()}: ${count}`;
  const paper = svg('rect', { class: 'paper', x: 0, y: layout.at[nodes[0]].y + below - 11, width: px(widthOf(content, 11) + 5), height: 14 });
  return [paper, label(nodes[0], content, 'start', 1)];
}

function fabricCursor(plot, state, layout, panels) {
  const distance = (link, x, y) => {
    const [a, b] = [layout.at[link.bottom], layout.at[link.top]];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const along = clamp(((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1), 0, 1);
    return Math.hypot(x - a.x - along * dx, y - a.y - along * dy);
  };
  const near = (x, y) => {
    const at = panels.findLastIndex(panel => x >= panel.x && y >= panel.y);
    if (at < 0) return null;
    const [inX, inY] = [x - panels[at].x, y - panels[at].y];
    let best = null;
    let least = 14;
    plot.links.forEach((link, i) => {
      const far = distance(link, inX, inY);
      if (far < least) { least = far; best = i; }
    });
    return best === null ? null : { at, link: best };
  };
  // The hottest link first, then down.
  const step = (cursor, dx, dy) => {
    if (!panels.length || !plot.links.length) return null;
    const at = cursor ? clamp(cursor.at + Math.sign(dy), 0, panels.length - 1) : 0;
    const order = range(plot.links.length).sort((a, b) => busier(plot.links[b], panels[at].scheme) - busier(plot.links[a], panels[at].scheme));
    const rank = cursor ? clamp(order.indexOf(cursor.link) + Math.sign(dx), 0, order.length - 1) : 0;
    return { at, link: order[rank] };
  };
  const describe = ({ at, link }) => {
    const { x, y, scheme } = panels[at];
    const line = plot.links[link];
    const [a, b] = [layout.at[line.bottom], layout.at[line.top]];
    const names = [plot.nodes[line.bottom], plot.nodes[line.top]].map(nodeName);
    return {
      x: x + (a.x + b.x) / 2, lines: [[x + a.x, y + a.y, x + b.x, y + b.y]],
      title: `${names[0]} – ${names[1]}${line.links > 1 ? `, busiest of ${line.links} links` : ''}`,
      rows: [{ scheme, name: 'up', value: percent(line.up[scheme]) }, { scheme, name: 'down', value: percent(line.down[scheme]) }],
    };
  };
  return { near, step, describe };
}

// The list of the hottest links, beside the drawing.
function hottestLists(plot, state) {
  const list = (links, scheme) => el('div', {}, el('h4', {}, `Hottest links, ${state.schemes[scheme]}`),
    links.length ? el('ol', {}, links.map(([name, used]) => el('li', {}, el('span', {}, name), el('span', { class: 'value' }, percent(used)))))
      : el('p', {}, 'Nothing was sent, or the link rates are not known.'));
  return el('div', { class: 'aside' }, heatKey(), el('div', { class: 'columns' }, plot.hottest.map(list)));
}

const FABRIC = {
  draw: drawFabric,
  schemes: plot => range(plot.hottest.length).map(scheme => ({ scheme })),
  axes: () => ({}),
  below: hottestLists,
  table: (plot, schemes) => ({
    columns: ['scheme', 'lower', 'upper', 'links', 'up', 'down', 'x', 'tier', 'x2', 'tier2'],
    rows: plot.hottest.flatMap((_, scheme) => plot.links.map(link => {
      const [a, b] = [plot.nodes[link.bottom], plot.nodes[link.top]];
      const share = permille => permille < 0 ? null : permille / 1000;
      return [schemes[scheme], nodeName(a), nodeName(b), link.links, share(link.up[scheme]), share(link.down[scheme]), a.x, a.tier, b.x, b.tier];
    })),
  }),
  vega: () => ({
    transform: [{ calculate: 'max(datum.up, datum.down)', as: 'utilisation' }],
    mark: { type: 'rule' },
    encoding: {
      row: { field: 'scheme', type: 'nominal' },
      x: { field: 'x', type: 'quantitative', axis: null },
      x2: { field: 'x2' },
      y: { field: 'tier', type: 'quantitative', axis: { tickMinStep: 1 } },
      y2: { field: 'tier2' },
      color: { field: 'utilisation', type: 'quantitative', legend: { format: '%' } },
      strokeWidth: { field: 'utilisation', type: 'quantitative', scale: { domain: [0, 1], range: [0.5, 5] } },
      tooltip: [{ field: 'lower' }, { field: 'upper' }, { field: 'up' }, { field: 'down' }],
    },
  }),
};
