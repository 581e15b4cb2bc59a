// Lines over two axes.

// The part of a line up to `end`, if the reader has chosen an end.
function upTo(line, end) {
  if (!end) return line;
  const n = Math.max(1, lastUpTo(line.x, end * (1 + 1e-9)) + 1);
  const cut = Object.entries(line).map(([name, value]) => [name, Array.isArray(value) ? value.slice(0, n) : value]);
  return Object.fromEntries(cut);
}

// A button for the time in which all schemes ran, if some ran much longer than others.
function linesControls(plot, state, redraw) {
  if (plot.x.unit !== 's' || plot.y.unit === 'share') return [];
  const ends = plot.series.filter(line => line.x.length).map(line => line.x[line.x.length - 1]);
  const [first, last] = [smallest(ends), largest(ends)];
  if (!(last > 2 * first)) return [];
  const content = `first ${quantity('s', first, 2)}`;
  return [toggle(content, `Only the ${content}, in which all schemes ran`, false, now => { state.until = now ? first : 0; redraw(); })];
}

// The visible lines and their positions.
function linesLayout(plot, state, width) {
  const lines = plot.series.filter(line => line.x.length && !state.hidden.has(line.scheme)).map(line => upTo(line, state.until));
  const height = width < 520 ? 250 : 330;
  const floor = height - MARGIN.bottom;
  const ys = lines.flatMap(line => (line.low ? [...line.low, ...line.high] : line.y).concat(statedOf(line, 'y')));
  let up = scaleFor(plot.y, state.log.y, ys, floor, MARGIN.top, 6);
  if (!state.log.y && plot.y.unit !== 'share') {
    const high = roundUp(plot.y.unit, largest(ys.concat(0)), 6);
    up = linearScale(plot.y.unit, 0, high, floor, MARGIN.top, 6);
  }
  const left = labelRoom(up);
  const right = width - MARGIN.right;
  const across = scaleFor(plot.x, state.log.x, lines.flatMap(line => line.x.concat(statedOf(line, 'x'))), left, right,
    Math.max(3, Math.floor(width / 80)));
  return { lines, height, floor, left, right, up, across };
}

// The values that papers state for a line.
const statedOf = (line, axis) => (line.stated || []).map(mark => mark[axis]);

// A hollow star at a stated value. A stroke up or down marks a bound.
function statedMarks(line, across, up) {
  return (line.stated || []).map(({ x, y, sense }) => {
    const [left, top] = [across.at(x), up.at(y)];
    const stroke = { over: 'M0 -7V-15M-3 -12L0 -15L3 -12', under: 'M0 7V15M-3 12L0 15L3 12' }[sense] || '';
    return svg('path', { class: `stated ${colour(line.scheme)}`, d: `${STAR}${stroke}`, transform: `translate(${px(left)} ${px(top)})` });
  });
}
const STAR = `M${range(10).map(at => {
  const [far, turn] = [at % 2 ? 2.8 : 6.5, Math.PI * (at / 5 - 0.5)];
  return `${px(far * Math.cos(turn))} ${px(far * Math.sin(turn))}`;
}).join('L')}Z`;
const SENSE = { about: '~', over: '>', under: '<' };

// The path of a line, without points that would move it by less than a third of a pixel.
function linePath(line, across, up) {
  let path = '';
  let lastX = NaN;
  let lastY = NaN;
  line.x.forEach((value, at) => {
    const x = across.at(value);
    const y = up.at(line.y[at]);
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    if (path && Math.abs(x - lastX) < 0.33 && Math.abs(y - lastY) < 0.33 && at + 1 < line.x.length) return;
    path += !path ? `M${px(x)} ${px(y)}` : line.step ? `H${px(x)}V${px(y)}` : `L${px(x)} ${px(y)}`;
    lastX = x;
    lastY = y;
  });
  return path;
}

function bandPath(line, across, up) {
  const edge = (values, order) => order.map(at => `${px(across.at(line.x[at]))} ${px(up.at(values[at]))}`);
  const forth = range(line.x.length);
  return `M${edge(line.high, forth).join('L')}L${edge(line.low, forth.slice().reverse()).join('L')}Z`;
}

// Places for a few marks along a line, at another place for each scheme.
function marksAlong(line, across) {
  const n = line.x.length;
  if (line.marks || n <= 24) return range(n);
  const from = across.at(line.x[0]);
  const span = across.at(line.x[n - 1]) - from;
  const pixels = line.x.map(value => across.at(value));
  return range(5).map(i => nearest(pixels, from + span * (i + 0.3 + 0.15 * (line.scheme % 4)) / 5));
}

function drawLines(plot, state, width) {
  const view = linesLayout(plot, state, width);
  const { lines, height, floor, left, right, up, across } = view;
  // A line that goes up and down is harder to follow if it has gaps.
  const overTime = plot.x.unit === 's' && plot.y.unit !== 'share';
  const parts = [axisLeft(plot.y, up, left, right), axisBelow(plot.x, across, floor, MARGIN.top, left, right)];
  for (const line of lines) {
    const style = `${colour(line.scheme)}${line.part === 'median' ? ' light' : ''}`;
    if (line.low) parts.push(svg('path', { class: `band ${style}`, d: bandPath(line, across, up) }));
    parts.push(svg('path', {
      class: `line data ${style}${overTime ? ' time' : ''}`, d: linePath(line, across, up),
      'stroke-dasharray': overTime ? '' : dash(line.scheme),
    }));
  }
  for (const line of lines) {
    for (const at of marksAlong(line, across)) {
      parts.push(mark(line.scheme, across.at(line.x[at]), up.at(line.y[at]), 3.2, line.part === 'median'));
    }
    parts.push(...statedMarks(line, across, up));
  }
  return { height, parts, ...lineCursor(plot, view) };
}

// Walks over the values of x that some line has.
function lineCursor(plot, { lines, floor, left, up, across }) {
  const xs = [...new Set(lines.flatMap(line => line.x))].sort((a, b) => a - b);
  const pixels = xs.map(value => across.at(value));
  const pointOf = (line, value) => plot.y.unit === 'share' || line.step
    ? lastUpTo(line.x, value) : nearest(line.x, value);
  const step = (at, dx) => {
    if (at === null) return xs.length ? 0 : null;
    let next = at;
    do next += Math.sign(dx); while (xs[next] !== undefined && Math.abs(pixels[next] - pixels[at]) < Math.abs(dx) * 3);
    return clamp(next, 0, xs.length - 1);
  };
  const describe = at => {
    const value = xs[at];
    const rows = lines.map(line => {
      const point = pointOf(line, value);
      if (point < 0) return { scheme: line.scheme, name: line.part, value: shown(plot.y.unit, 0) };
      const band = line.low ? ` (${shown(plot.y.unit, line.low[point])} to ${shown(plot.y.unit, line.high[point])})` : '';
      const count = line.count ? `, ${grouped(line.count[point])} flows` : '';
      return {
        scheme: line.scheme, name: line.part, value: shown(plot.y.unit, line.y[point]) + band + count,
        dot: [across.at(plot.y.unit === 'share' ? value : line.x[point]), up.at(line.y[point])],
      };
    });
    return { x: pixels[at], lines: [[pixels[at], MARGIN.top, pixels[at], floor]], rows,
      title: `${plot.x.label} ${shown(plot.x.unit, value)}` };
  };
  return { near: x => xs.length && x >= left - 8 ? nearest(pixels, x) : null, step, describe };
}

const NAMED = { 's': 's', 'bit/s': 'bit_per_s', 'B': 'bytes', 'x': 'ratio', 'share': 'share' };
const column = axis => `${axis.label.replace(/,.*/, '').replace(/\W+/g, '_')}_${NAMED[axis.unit]}`.replace(/^share_of_(\w+)_share$/, 'share_of_$1');

function linesTable(plot, schemes) {
  const has = name => plot.series.some(line => line[name] && line[name].length);
  const extra = ['low', 'high', 'count'].filter(has);
  const parts = has('part') || has('stated');
  const columns = ['scheme', ...(parts ? ['part'] : []), column(plot.x), column(plot.y), ...extra];
  const rows = plot.series.flatMap(line => line.x.map((x, at) => [
    schemes[line.scheme], ...(parts ? [line.part || ''] : []), x, line.y[at],
    ...extra.map(name => line[name] ? line[name][at] : null)]));
  const stated = plot.series.flatMap(line => (line.stated || []).map(({ x, y, sense }) => [
    schemes[line.scheme], `stated ${SENSE[sense]}`, x, y, ...extra.map(() => null)]));
  return { columns, rows: rows.concat(stated) };
}

function linesVega(plot, { columns }) {
  const [x, y] = [column(plot.x), column(plot.y)];
  const field = (name, axis) => vegaField(name, plot[axis], plot.series.flatMap(line => line[axis]));
  const step = plot.series.some(line => line.step);
  const encoding = {
    x: field(x, 'x'), y: field(y, 'y'),
    color: { field: 'scheme', type: 'nominal' },
    ...(plot.x.unit === 's' && plot.y.unit !== 'share' ? {} : { strokeDash: { field: columns.includes('part') ? 'part' : 'scheme', type: 'nominal' } }),
  };
  const line = { mark: { type: 'line', interpolate: step ? 'step-after' : 'linear', point: plot.series.some(l => l.marks) }, encoding };
  if (!columns.includes('low')) return line;
  const band = { mark: { type: 'area', opacity: 0.2 }, encoding: { x: encoding.x, y: { ...encoding.y, field: 'low' }, y2: { field: 'high' }, color: encoding.color } };
  return { layer: [band, line] };
}

const LINES = {
  draw: drawLines, table: linesTable, vega: linesVega,
  schemes: plot => plot.series.filter(line => line.x.length),
  axes: plot => ({ x: plot.x, y: plot.y }),
  controls: linesControls,
};
