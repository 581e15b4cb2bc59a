// Spans of time in rows: which host may send, and to whom. One chart for each scheme.

// The windows that a panel shows in the chosen part of the time, one by one if possible.
function ganttView(panel, state) {
  const [from, until] = state.zoom[panel.scheme] || [0, panel.end];
  const fine = panel.detail.row.length && until <= panel.detail_until * (1 + 1e-9);
  return { from, until, spans: fine ? panel.detail : panel.bars };
}

const ganttTall = rows => rows <= 40 ? 16 : rows <= 160 ? 11 : 6;
const ganttColour = (plot, to) => to < 0 ? 'several' : `d${Math.floor(to / plot.step) % 8}`;

function drawGantt(plot, state, width) {
  const panels = plot.panels.filter(panel => !state.hidden.has(panel.scheme));
  const names = panels.flatMap(panel => panel.rows.map(row => hostName(plot, row)));
  const left = 12 + largest(names.map(name => widthOf(name, 11)).concat(10));
  const parts = [];
  const places = [];
  let y = 0;
  for (const panel of panels) {
    const place = ganttPanel(plot, state, panel, y, left, width, parts);
    places.push(place);
    y = place.floor + MARGIN.bottom + 10;
  }
  return { height: Math.max(y, 10), parts, ...ganttCursor(plot, state, places) };
}

const hostName = (plot, at) => at < 0 ? 'several hosts' : plot.hosts[at] || `host ${at}`;

function ganttPanel(plot, state, panel, y, left, width, parts) {
  const view = ganttView(panel, state);
  const right = width - MARGIN.right;
  const tall = ganttTall(panel.rows.length);
  const top = y + 20;
  const floor = top + panel.rows.length * tall;
  const across = linearScale('s', view.from, view.until, left, right, Math.max(3, Math.floor(width / 100)));
  parts.push(text(0, y + 12, state.schemes[panel.scheme], { class: 'title' }));
  parts.push(axisBelow({ label: 'time' }, across, floor, top, left, right));
  const every = Math.ceil(12 / tall);
  panel.rows.forEach((host, row) => {
    if (row % every === 0 && panel.rows[row - 1] !== host) parts.push(text(left - 6, top + row * tall + tall / 2 + 4, hostName(plot, host), { class: 'tiny', 'text-anchor': 'end' }));
  });
  const drawn = [];
  view.spans.row.forEach((row, at) => {
    const [from, until] = [Math.max(view.from, view.spans.from[at]), Math.min(view.until, view.spans.until[at])];
    if (until <= from) return;
    drawn.push(at);
    ganttBar(plot, view.spans, at, across.at(from), across.at(until), top + row * tall, tall, parts);
  });
  return { panel, view, top, floor, tall, across, drawn };
}

function ganttBar(plot, spans, at, x, end, y, tall, parts) {
  const gap = tall > 8 ? 2 : 1;
  const wide = Math.max(0.7, end - x);
  parts.push(svg('rect', {
    class: `data ${ganttColour(plot, spans.to[at])}`, x: px(x), y: px(y), width: px(wide), height: tall - gap,
    'fill-opacity': px(0.25 + 0.75 * spans.share[at]),
  }));
  const name = spans.to[at] < 0 ? '' : hostName(plot, spans.to[at]);
  if (tall >= 16 && name && wide > widthOf(name, 10) + 6) {
    parts.push(text(x + wide / 2, y + 11, name, { class: `mini on ${ganttColour(plot, spans.to[at])}`, 'text-anchor': 'middle' }));
  }
}

function ganttCursor(plot, state, places) {
  const near = (x, y) => {
    const at = places.findIndex(place => y >= place.top && y < place.floor);
    if (at < 0) return null;
    const { view: { spans }, top, tall, across, drawn } = places[at];
    const row = Math.floor((y - top) / tall);
    const slack = Math.abs(across.inverse(x + 3) - across.inverse(x));
    const time = across.inverse(x);
    const bar = drawn.find(i => spans.row[i] === row && spans.from[i] - slack <= time && time <= spans.until[i] + slack);
    return bar === undefined ? null : { at, bar };
  };
  const step = (cursor, dx, dy) => {
    if (!cursor) return places.length && places[0].drawn.length ? { at: 0, bar: places[0].drawn[0] } : null;
    const { view: { spans }, drawn } = places[cursor.at];
    const rank = bar => spans.row[bar] * 1e12 + spans.from[bar];
    if (dx) {
      const order = drawn.filter(bar => spans.row[bar] === spans.row[cursor.bar]).sort((a, b) => rank(a) - rank(b));
      const next = order[clamp(order.indexOf(cursor.bar) + Math.sign(dx), 0, order.length - 1)];
      return { at: cursor.at, bar: next };
    }
    const rows = [...new Set(drawn.map(bar => spans.row[bar]))].sort((a, b) => a - b);
    const row = rows[rows.indexOf(spans.row[cursor.bar]) + Math.sign(dy)];
    if (row === undefined) {
      const at = cursor.at + Math.sign(dy);
      return places[at] && places[at].drawn.length ? { at, bar: places[at].drawn[0] } : cursor;
    }
    const there = drawn.filter(bar => spans.row[bar] === row);
    const far = bar => Math.abs(spans.from[bar] - spans.from[cursor.bar]);
    return { at: cursor.at, bar: there.reduce((best, bar) => far(bar) < far(best) ? bar : best) };
  };
  const describe = ({ at, bar }) => {
    const { panel, view: { spans, from, until }, top, tall, across } = places[at];
    const x = across.at(Math.max(from, spans.from[bar]));
    const end = across.at(Math.min(until, spans.until[bar]));
    const row = spans.row[bar];
    const several = spans.windows[bar] > 1 ? `${grouped(spans.windows[bar])} windows, open ${significant(spans.share[bar] * 100, 3)}\u00a0% of the time` : quantity('s', spans.until[bar] - spans.from[bar]);
    return {
      x, box: [x, top + row * tall, Math.max(2, end - x), tall],
      title: `${hostName(plot, panel.rows[row])} → ${hostName(plot, spans.to[bar])}`,
      rows: [{ scheme: panel.scheme, name: '', value: `${quantity('s', spans.from[bar], 6)} to ${quantity('s', spans.until[bar], 6)}, ${several}` }],
    };
  };
  return { near, step, describe };
}

// The part of the time that all panels show, changed by `change`: [from, until, end] to [from, until].
function ganttZoom(plot, state, change) {
  for (const panel of plot.panels) {
    const { from, until } = ganttView(panel, state);
    const [low, high] = change(from, until, panel.end);
    const span = clamp(high - low, panel.end * 1e-6, panel.end);
    const start = clamp(low, 0, panel.end - span);
    state.zoom[panel.scheme] = [start, start + span];
  }
}

function ganttControls(plot, state, redraw) {
  state.zoom = {};
  const act = change => () => { ganttZoom(plot, state, change); redraw(); };
  // Zooms to the start first, because single windows are recorded there.
  state.keys = {
    '+': act((from, until) => [from, from + (until - from) / 2]),
    '-': act((from, until) => [from, until + (until - from)]),
    '<': act((from, until) => [from - (until - from) / 2, until - (until - from) / 2]),
    '>': act((from, until) => [from + (until - from) / 2, until + (until - from) / 2]),
    '0': act((from, until, end) => [0, end]),
  };
  const summed = plot.panels.filter(panel => panel.detail.row.length);
  const detail = summed.length ? [button('first windows', 'Zoom to the part that has every window', () => {
    for (const panel of summed) state.zoom[panel.scheme] = [0, panel.detail_until];
    redraw();
  })] : [];
  return [...detail, button('−', 'Zoom out (key -)', state.keys['-']), button('+', 'Zoom in (key +)', state.keys['+']),
    button('◀', 'Earlier (key <)', state.keys['<']), button('▶', 'Later (key >)', state.keys['>']),
    button('all', 'The whole run (key 0)', state.keys['0'])];
}

const GANTT = {
  draw: drawGantt,
  schemes: plot => plot.panels,
  axes: () => ({}),
  controls: ganttControls,
  tall: true,
  table: (plot, schemes) => ({
    columns: ['scheme', 'src', 'dst', 'from_s', 'until_s', 'windows', 'open_share'],
    rows: plot.panels.flatMap(panel => panel.bars.row.map((row, at) => [
      schemes[panel.scheme], hostName(plot, panel.rows[row]), hostName(plot, panel.bars.to[at]),
      panel.bars.from[at], panel.bars.until[at], panel.bars.windows[at], panel.bars.share[at]])),
  }),
  vega: plot => ({
    mark: 'bar',
    encoding: {
      row: { field: 'scheme', type: 'nominal' },
      x: vegaField('from_s', { label: 'time', unit: 's' }, plot.panels.map(panel => panel.end)),
      x2: { field: 'until_s' },
      y: { field: 'src', type: 'nominal', sort: null },
      color: { field: 'dst', type: 'nominal' },
      opacity: { field: 'open_share', type: 'quantitative', scale: { domain: [0, 1], range: [0.25, 1] } },
    },
  }),
};
