// The trace of one flow under each scheme.

const STEPS = ['sent', 'resent', 'acknowledged'];

function sequenceLayout(plot, state, width) {
  const tracks = plot.tracks.filter(track => track.flow === state.flow && !state.hidden.has(track.scheme));
  const height = width < 520 ? 280 : 380;
  const floor = height - MARGIN.bottom;
  const all = name => tracks.flatMap(track => STEPS.flatMap(step => track[step][name]));
  const up = linearScale('B', 0, roundUp('B', largest(all('y').concat(0)), 6), floor, MARGIN.top, 6);
  const left = labelRoom(up);
  const right = width - MARGIN.right;
  const axis = { label: 'time since its first segment', unit: 's', scale: 'linear-first' };
  const across = scaleFor(axis, state.log.x, all('x'), left, right, Math.max(3, Math.floor(width / 80)));
  return { tracks, height, floor, left, right, up, across, axis };
}

// Dots or crosses as one path, without those that would lie on another.
function scatter(points, across, up, shape) {
  let path = '';
  let [lastX, lastY] = [NaN, NaN];
  points.x.forEach((value, at) => {
    const [x, y] = [across.at(value), up.at(points.y[at])];
    if (Math.abs(x - lastX) < 0.5 && Math.abs(y - lastY) < 0.5) return;
    path += shape(px(x), px(y));
    [lastX, lastY] = [x, y];
  });
  return path;
}

const DOT = (x, y) => `M${x} ${y}h0`;
const CROSS = (x, y) => `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`;

function drawSequence(plot, state, width) {
  const view = sequenceLayout(plot, state, width);
  const { tracks, height, floor, left, right, up, across, axis } = view;
  const parts = [];
  for (const track of tracks) {
    const shade = track.open.map((from, at) => {
      const [x, end] = [across.at(from), across.at(track.shut[at])];
      return `M${px(x)} ${MARGIN.top}H${px(Math.max(end, x + 0.5))}V${floor}H${px(x)}Z`;
    });
    if (shade.length) parts.push(svg('path', { class: `shade ${colour(track.scheme)}`, d: shade.join('') }));
  }
  parts.push(axisLeft({ label: 'bytes of the flow' }, up, left, right), axisBelow(axis, across, floor, MARGIN.top, left, right));
  for (const track of tracks) {
    const style = colour(track.scheme);
    const line = { ...track.acknowledged, step: true };
    parts.push(svg('path', { class: `line data light ${style}`, d: linePath(line, across, up), 'stroke-dasharray': dash(track.scheme) }));
    parts.push(svg('path', { class: `dots data ${style}`, d: scatter(track.sent, across, up, DOT) }));
    if (track.resent.x.length) parts.push(svg('path', { class: `crosses data ${style}`, d: scatter(track.resent, across, up, CROSS) }));
  }
  return { height, parts, ...sequenceCursor(view) };
}

// Walks over all points in order of time.
function sequenceCursor({ tracks, across, up }) {
  const points = tracks.flatMap(track => STEPS.flatMap(step => track[step].x.map((x, at) => (
    { x, y: track[step].y[at], step, scheme: track.scheme, px: across.at(x), py: up.at(track[step].y[at]) }))));
  points.sort((a, b) => a.x - b.x);
  const near = (x, y) => {
    const far = point => (point.px - x) ** 2 + (point.py - y) ** 2;
    let best = null;
    points.forEach((point, at) => { if (best === null || far(point) < far(points[best])) best = at; });
    return best !== null && far(points[best]) < 900 ? best : null;
  };
  const describe = at => {
    const point = points[at];
    const acked = point.step === 'acknowledged';
    return {
      x: point.px, title: `${quantity('s', point.x, 6)} after its first segment`,
      rows: [{ scheme: point.scheme, name: point.step, value: `${acked ? 'all below ' : 'up to '}${quantity('B', point.y)}`, dot: [point.px, point.py] }],
    };
  };
  const step = (at, dx, dy) => points.length ? at === null ? 0 : clamp(at + dx - dy, 0, points.length - 1) : null;
  return { near, describe, step };
}

function sequenceControls(plot, state, redraw) {
  state.flow = 0;
  const choice = el('select', { 'aria-label': 'Flow' }, plot.flows.map((name, at) => el('option', { value: at }, name)));
  choice.addEventListener('change', () => { state.flow = Number(choice.value); redraw(); });
  return [choice];
}

const SEQUENCE = {
  draw: drawSequence,
  schemes: plot => plot.tracks.filter((track, at, all) => all.findIndex(other => other.scheme === track.scheme) === at)
    .sort((a, b) => a.scheme - b.scheme),
  axes: () => ({ x: { label: 'time', scale: 'linear-first' } }),
  controls: sequenceControls,
  table: (plot, schemes) => ({
    columns: ['flow', 'scheme', 'event', 'time_s', 'bytes', 'until_s'],
    rows: plot.tracks.flatMap(track => {
      const name = [plot.flows[track.flow], schemes[track.scheme]];
      const windows = track.open.map((from, at) => [...name, 'permitted', from, null, track.shut[at]]);
      return [...windows, ...STEPS.flatMap(step => track[step].x.map((x, at) => [...name, step, x, track[step].y[at], null]))];
    }),
  }),
  vega: plot => ({
    transform: [{ filter: "datum.event != 'permitted'" }],
    mark: { type: 'point', size: 8 },
    encoding: {
      row: { field: 'flow', type: 'nominal' },
      x: vegaField('time_s', { label: 'time since its first segment', unit: 's' }, plot.tracks.flatMap(track => track.sent.x)),
      y: vegaField('bytes', { label: 'bytes of the flow', unit: 'B' }, plot.tracks.flatMap(track => track.sent.y)),
      color: { field: 'scheme', type: 'nominal' },
      shape: { field: 'event', type: 'nominal' },
    },
  }),
};
