// Horizontal bars, one for each scheme in each row.

const BAR = 11;

function drawBars(plot, state, width) {
  const schemes = range(plot.values.length).filter(at => !state.hidden.has(at));
  const rowHeight = Math.max(20, schemes.length * BAR + 7);
  const room = Math.min(width * 0.42, 14 + largest(plot.rows.map(name => widthOf(name)).concat(20)));
  const right = width - MARGIN.right - 46;
  const top = 8;
  const floor = top + plot.rows.length * rowHeight;
  const stated = (scheme, row) => plot.stated && Number.isFinite(plot.stated[scheme][row]) ? plot.stated[scheme][row] : null;
  const values = schemes.flatMap(scheme => [...plot.values[scheme], ...plot.rows.map((_, row) => stated(scheme, row))]);
  const across = barScale(plot.x, state.log.x, values, room, right, width);
  const parts = [axisBelow(plot.x, across, floor, top, room, right)];
  const rowTop = row => top + row * rowHeight + (rowHeight - schemes.length * BAR) / 2;
  plot.rows.forEach((name, row) => {
    parts.push(text(room - 7, top + (row + 0.5) * rowHeight + 4, fitted(name, room - 10), { 'text-anchor': 'end' }));
    schemes.forEach((scheme, rank) => {
      const end = Math.max(room, across.at(plot.values[scheme][row]));
      parts.push(svg('rect', {
        class: `bar data ${colour(scheme)}`, x: px(room), y: px(rowTop(row) + rank * BAR),
        width: px(end - room), height: BAR - 2,
      }));
      if (plot.values[scheme][row] > 0) {
        parts.push(text(end + 4, rowTop(row) + rank * BAR + 8, shown(plot.x.unit, plot.values[scheme][row]), { class: 'mini' }));
      }
      if (stated(scheme, row) !== null) {
        parts.push(svg('path', {
          class: `stated ${colour(scheme)}`, d: STAR, transform: `translate(${px(across.at(stated(scheme, row)))} ${px(rowTop(row) + rank * BAR + BAR / 2 - 1)})`,
        }));
      }
    });
  });
  const describe = row => ({
    box: [0, top + row * rowHeight, width, rowHeight], x: across.at(largest(schemes.map(s => plot.values[s][row]))),
    title: plot.rows[row],
    rows: schemes.map(scheme => ({ scheme, name: '', value: barWords(plot.x.unit, plot.values[scheme][row], stated(scheme, row)) })),
  });
  const inside = row => row >= 0 && row < plot.rows.length ? row : null;
  return {
    height: floor + MARGIN.bottom, parts, describe,
    near: (x, y) => inside(Math.floor((y - top) / rowHeight)),
    step: (row, dx, dy) => row === null ? 0 : clamp(row + Math.sign(dx + dy), 0, plot.rows.length - 1),
  };
}

function barWords(unit, value, stated) {
  const ours = Number.isFinite(value) ? shown(unit, value) : '–';
  return stated === null ? ours : `${ours}; stated: ${shown(unit, stated)}`;
}

function barScale(axis, log, values, from, to, width) {
  const parts = Math.max(2, Math.floor(width / 110));
  if (log) return scaleFor(axis, true, values.concat(smallest(values.filter(v => v > 0)) / 2), from, to, parts);
  if (axis.unit === 'share') return linearScale('share', 0, clamp(roundUp('share', largest(values), 4), 0.001, 1), from, to, parts);
  return linearScale(axis.unit, 0, roundUp(axis.unit, largest(values.concat(0)), 4), from, to, parts);
}

const barColumn = plot => `${plot.x.label.replace(/\W+/g, '_')}${plot.x.unit === 'share' ? '' : `_${NAMED[plot.x.unit]}`}`;

const BARS = {
  draw: drawBars,
  schemes: plot => range(plot.values.length).map(scheme => ({ scheme })),
  axes: plot => ({ x: plot.x }),
  table: (plot, schemes) => ({
    columns: ['scheme', plot.row, barColumn(plot), ...(plot.stated ? ['stated'] : [])],
    rows: plot.values.flatMap((values, at) => values.map((value, row) => [schemes[at], plot.rows[row], value, ...(plot.stated ? [plot.stated[at][row]] : [])])),
  }),
  vega: plot => ({
    mark: 'bar',
    encoding: {
      y: { field: plot.row, type: 'nominal', sort: null },
      yOffset: { field: 'scheme', type: 'nominal' },
      x: vegaField(barColumn(plot), plot.x, plot.values.flat()),
      color: { field: 'scheme', type: 'nominal' },
    },
  }),
};
