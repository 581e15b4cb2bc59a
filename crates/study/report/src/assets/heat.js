// Rows of coloured cells over time, one map for each scheme.

const LEVELS = 10;
const level = permille => permille < 0 ? 'none' : `h${Math.min(LEVELS - 1, Math.floor(permille * LEVELS / 1000))}`;

// The meaning of the colours.
function heatKey() {
  const steps = range(LEVELS).map(at => svg('rect', { class: `h${at}`, x: at * 14, y: 0, width: 14, height: 10 }));
  return el('p', { class: 'heatkey' }, '0 % ', svg('svg', { viewBox: '0 0 140 10', class: 'ramp', 'aria-hidden': 'true' }, steps), ' 100 %');
}

// Adjacent cells of equal level are drawn as one.
function heatRow(cells, edges, across, y, height) {
  const out = [];
  let from = 0;
  for (let at = 1; at <= cells.length; at += 1) {
    if (at < cells.length && level(cells[at]) === level(cells[from])) continue;
    const [x, end] = [across.at(edges[from]), across.at(edges[at])];
    out.push(svg('rect', { class: `data ${level(cells[from])}`, x: px(x), y, width: px(Math.max(0.4, end - x)), height }));
    from = at;
  }
  return out;
}

function drawHeat(plot, state, width) {
  const panels = plot.panels.filter(panel => !state.hidden.has(panel.scheme));
  const tall = plot.rows.length > 20 ? 13 : 17;
  const left = Math.min(width * 0.36, 14 + largest(plot.rows.map(name => widthOf(name, 11)).concat(10)));
  const right = width - MARGIN.right;
  const parts = [];
  const places = [];
  let y = 0;
  for (const panel of panels) {
    const end = panel.edges[panel.edges.length - 1];
    const across = linearScale('s', 0, end, left, right, Math.max(3, Math.floor(width / 100)));
    const top = y + 20;
    const floor = top + plot.rows.length * tall;
    parts.push(text(0, y + 12, state.schemes[panel.scheme], { class: 'title' }));
    parts.push(axisBelow({ label: 'time' }, across, floor, floor, left, right));
    plot.rows.forEach((name, row) => {
      parts.push(text(left - 6, top + row * tall + tall / 2 + 4, fitted(name, left - 8, 11), { class: 'tiny', 'text-anchor': 'end' }));
      parts.push(...heatRow(panel.permille[row], panel.edges, across, top + row * tall, tall - 1));
    });
    places.push({ panel, top, floor, across });
    y = floor + MARGIN.bottom + 12;
  }
  return { height: y, parts, ...heatCursor(plot, state, places, tall) };
}

function heatCursor(plot, state, places, tall) {
  const near = (x, y) => {
    const at = places.findIndex(place => y >= place.top && y < place.floor);
    if (at < 0) return null;
    const { panel, top, across } = places[at];
    const column = lastUpTo(panel.edges, across.inverse(x));
    if (column < 0 || column >= panel.edges.length - 1) return null;
    return { at, row: Math.floor((y - top) / tall), column };
  };
  const step = (cursor, dx, dy) => {
    if (!cursor) return places.length ? { at: 0, row: 0, column: 0 } : null;
    let { at, row } = cursor;
    row += Math.sign(dy);
    if (row < 0 && at > 0) { at -= 1; row = plot.rows.length - 1; }
    if (row >= plot.rows.length && at < places.length - 1) { at += 1; row = 0; }
    const columns = places[at].panel.edges.length - 1;
    return { at, row: clamp(row, 0, plot.rows.length - 1), column: clamp(cursor.column + dx, 0, columns - 1) };
  };
  const describe = ({ at, row, column }) => {
    const { panel, top, across } = places[at];
    const [from, until] = [panel.edges[column], panel.edges[column + 1]];
    const x = across.at(from);
    return {
      x, box: [x, top + row * tall, Math.max(2, across.at(until) - x), tall - 1],
      title: `${plot.rows[row]}, ${quantity('s', from)} to ${quantity('s', until)}`,
      rows: [{ scheme: panel.scheme, name: '', value: percent(panel.permille[row][column]) }],
    };
  };
  return { near, step, describe };
}

const HEAT = {
  draw: drawHeat,
  schemes: plot => plot.panels,
  axes: () => ({}),
  below: heatKey,
  table: (plot, schemes) => ({
    columns: ['scheme', 'port', 'from_s', 'until_s', 'utilisation'],
    rows: plot.panels.flatMap(panel => panel.permille.flatMap((cells, row) => cells.map((cell, at) => [
      schemes[panel.scheme], plot.rows[row], panel.edges[at], panel.edges[at + 1], cell < 0 ? null : cell / 1000]))),
  }),
  vega: plot => ({
    mark: 'rect',
    encoding: {
      row: { field: 'scheme', type: 'nominal' },
      x: vegaField('from_s', { label: 'time', unit: 's' }, plot.panels.flatMap(panel => panel.edges)),
      x2: { field: 'until_s' },
      y: { field: 'port', type: 'nominal', sort: null },
      color: { field: 'utilisation', type: 'quantitative', legend: { format: '%' } },
    },
    resolve: { scale: { x: 'independent' } },
  }),
};
