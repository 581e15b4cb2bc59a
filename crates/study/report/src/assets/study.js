// The result of a parameter study: a metric against a parameter, with a line and intervals for each setting.

// Places on the axis of a parameter whose values are not numbers.
function namesScale(names, from, to) {
  const slot = (to - from) / names.length;
  return {
    suffix: '', slot, at: value => from + (value + 0.5) * slot,
    ticks: names.map((name, at) => [at, fitted(name, Math.max(slot - 8, 44))]),
  };
}

// The visible lines and their positions.
function studyLayout(plot, state, width) {
  const lines = plot.series.filter(line => line.x.length && !state.hidden.has(line.scheme));
  const height = width < 520 ? 270 : 330;
  const floor = height - MARGIN.bottom;
  const ys = lines.flatMap(line => [...line.y, ...line.low, ...line.high, ...statedOf(line, 'y')]).filter(Number.isFinite);
  const up = state.log.y ? scaleFor(plot.y, true, ys, floor, MARGIN.top, 6)
    : linearScale(plot.y.unit, 0, roundUp(plot.y.unit, largest(ys.concat(0)), 6), floor, MARGIN.top, 6);
  const [left, right] = [labelRoom(up), width - MARGIN.right];
  const across = plot.names ? namesScale(plot.names, left, right)
    : scaleFor(plot.x, state.log.x, lines.flatMap(line => line.x), left, right, Math.max(3, Math.floor(width / 80)));
  // Lines are shifted sideways if they would hide each other.
  const gap = across.slot ? Math.min(14, across.slot * 0.7 / Math.max(1, lines.length)) : Math.min(5, 20 / Math.max(1, lines.length));
  const shift = rank => (rank - (lines.length - 1) / 2) * gap;
  const place = (rank, at) => [across.at(lines[rank].x[at]) + shift(rank), up.at(lines[rank].y[at])];
  return { lines, height, floor, left, right, up, across, shift, place };
}

// The interval of a point, cut at the edge of the drawing.
function whisker(line, at, x, { up, floor }) {
  if (!Number.isFinite(line.low[at]) || !Number.isFinite(line.high[at])) return null;
  const [low, high] = [line.low[at], line.high[at]].map(value => clamp(up.at(value), MARGIN.top, floor));
  if (low - high < 1) return null;
  const cap = y => y === floor || y === MARGIN.top ? '' : `M${px(x - 3.5)} ${px(y)}H${px(x + 3.5)}`;
  return svg('path', { class: `whisker ${colour(line.scheme)}`, d: `M${px(x)} ${px(low)}V${px(high)}${cap(low)}${cap(high)}` });
}

function drawStudy(plot, state, width) {
  const view = studyLayout(plot, state, width);
  const { lines, height, floor, left, right, up, across, shift, place } = view;
  const parts = [axisLeft(plot.y, up, left, right), axisBelow(plot.x, across, floor, MARGIN.top, left, right)];
  if (!plot.names) {
    lines.forEach((line, rank) => parts.push(svg('path', {
      class: `line data ${colour(line.scheme)}`, d: linePath(line, across, up),
      'stroke-dasharray': dash(line.scheme), transform: `translate(${px(shift(rank))} 0)`,
    })));
  }
  lines.forEach((line, rank) => line.x.forEach((value, at) => {
    const [x, y] = place(rank, at);
    const point = mark(line.scheme, x, y, 3.6, line.least[at]);
    point.classList.add('data');
    parts.push(whisker(line, at, x, view), point);
  }));
  lines.forEach(line => parts.push(...statedMarks(line, across, up)));
  return { height, parts: parts.filter(Boolean), ...studyCursor(plot, view) };
}

function studyWords(unit, line, at) {
  const stated = (line.stated || []).filter(({ x }) => x === line.x[at]).map(({ y, sense }) => `; stated: ${SENSE[sense]} ${shown(unit, y)}`).join('');
  return ourWords(unit, line, at) + stated;
}

function ourWords(unit, line, at) {
  const value = `${line.least[at] ? '≥\u00a0' : ''}${shown(unit, line.y[at])}`;
  return Number.isFinite(line.low[at]) ? `${value} (${shown(unit, line.low[at])} to ${shown(unit, line.high[at])})` : value;
}

// Walks over the values of the parameter.
function studyCursor(plot, { lines, floor, left, across, place }) {
  const xs = [...new Set(lines.flatMap(line => line.x))].sort((a, b) => a - b);
  const pixels = xs.map(value => across.at(value));
  const describe = at => ({
    x: pixels[at], lines: [[pixels[at], MARGIN.top, pixels[at], floor]],
    title: `${plot.x.label} ${plot.names ? plot.names[xs[at]] : shown(plot.x.unit, xs[at])}`,
    rows: lines.map((line, rank) => {
      const point = line.x.indexOf(xs[at]);
      return point < 0 ? { scheme: line.scheme, value: '–' }
        : { scheme: line.scheme, value: studyWords(plot.y.unit, line, point), dot: place(rank, point) };
    }),
  });
  const step = (at, dx) => at === null ? (xs.length ? 0 : null) : clamp(at + Math.sign(dx) * Math.min(Math.abs(dx), xs.length), 0, xs.length - 1);
  return { near: x => xs.length && x >= left - 8 ? nearest(pixels, x) : null, step, describe };
}

const studyColumns = plot => ['line', ...plot.settings, plot.x.label, `mean${plot.y.unit === '1' ? '' : `_${NAMED[plot.y.unit]}`}`];

// The columns of a study: `line` is the name in the legend.
function studyTable(plot, schemes) {
  const known = value => Number.isFinite(value) ? value : null;
  const stated = plot.series.some(line => line.stated);
  const columns = [...studyColumns(plot), 'ci_low', 'ci_high', 'n', 'lower_bound', ...(stated ? ['stated'] : [])];
  const statedAt = (line, x) => (line.stated || []).filter(mark => mark.x === x).map(({ y, sense }) => `${SENSE[sense]} ${y}`).join(' ');
  const rows = plot.series.flatMap(line => line.x.map((x, at) => [
    schemes[line.scheme], ...line.settings, plot.names ? plot.names[x] : x, line.y[at],
    known(line.low[at]), known(line.high[at]), line.seeds[at], line.least[at], ...(stated ? [statedAt(line, x)] : [])]));
  return { columns, rows };
}

function studyVega(plot) {
  const named = name => name.replace(/([.[\]\\'"])/g, '\\$1');
  const [x, y] = studyColumns(plot).slice(-2).map(named);
  const others = plot.settings.slice(1).map(name => ({ field: named(name), type: 'nominal' }));
  const encoding = {
    x: plot.names ? { field: x, type: 'nominal', title: plot.x.label, sort: null } : vegaField(x, plot.x, plot.series.flatMap(line => line.x)),
    color: { field: 'line', type: 'nominal' }, detail: others,
  };
  const up = field => vegaField(field, plot.y, plot.series.flatMap(line => line.y));
  const means = { y: up(y), ...(others.length ? { strokeDash: others[0] } : {}) };
  // An interval has no part below zero, as on the page.
  const positive = { calculate: 'isValid(datum.ci_low) ? max(0, datum.ci_low) : null', as: 'ci_low' };
  return { transform: [positive], encoding, layer: [
    { mark: plot.names ? 'point' : { type: 'line', point: true }, encoding: plot.names ? { y: up(y), ...(others.length ? { shape: others[0] } : {}) } : means },
    { mark: 'rule', encoding: { y: up('ci_low'), y2: { field: 'ci_high' } } },
  ] };
}

const STUDY = {
  draw: drawStudy, table: studyTable, vega: studyVega,
  schemes: plot => plot.series,
  axes: plot => ({ x: plot.x, y: plot.y }),
};
