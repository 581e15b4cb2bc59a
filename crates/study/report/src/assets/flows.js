// One flow at a time: a sentence, a bar and the numbers.

function drawFlow(plot, state, width) {
  const flow = plot.flows[state.flow];
  if (!flow || state.hidden.has(flow.scheme)) return { height: 4, parts: [], near: () => null, step: () => null };
  const right = width - 1;
  const whole = total(flow.seconds);
  const parts = stackedBar(flow.seconds, whole, 0, right, 4, 30);
  const describe = part => {
    const before = total(flow.seconds.slice(0, part)) / whole * right;
    return {
      x: before, box: [before, 4, Math.max(2, flow.seconds[part] / whole * right), 30], title: flow.name,
      rows: partRows(plot.parts, flow.seconds).filter(row => row.part === part),
    };
  };
  const used = range(plot.parts.length).filter(part => flow.seconds[part] > 0);
  const near = x => {
    let end = 0;
    const found = used.find(part => { end += flow.seconds[part] / whole * right; return x <= end + 0.5; });
    return found === undefined ? null : found;
  };
  const step = (part, dx, dy) => part === null ? used[0] : used[clamp(used.indexOf(part) + Math.sign(dx + dy), 0, used.length - 1)];
  return { height: 40, parts, describe, near, step };
}

// The summary and the numbers of a flow.
function flowWords(plot, state) {
  const flow = plot.flows[state.flow];
  if (!flow || state.hidden.has(flow.scheme)) return el('p', {}, 'No flow of the visible schemes was followed.');
  const whole = total(flow.seconds);
  const row = (name, seconds, style) => el('tr', {},
    el('th', { scope: 'row' }, style ? swatch(style) : null, ` ${name}`),
    el('td', {}, quantity('s', seconds)), el('td', {}, portion(seconds / whole)));
  const parts = plot.parts.map((name, part) => flow.seconds[part] > 0 ? row(name, flow.seconds[part], `p${part}`) : null);
  const places = flow.places.map(([name, seconds]) => row(name, seconds));
  const table = (title, rows) => rows.some(Boolean) ? el('table', {}, el('caption', {}, title), el('tbody', {}, rows)) : null;
  return el('div', {}, el('h4', {}, `${state.schemes[flow.scheme]}, ${flow.name}`), el('p', { class: 'breakdown' }, `${flow.summary}.`),
    el('div', { class: 'columns' }, table('What the flow did', parts), table('Where the flow waited longest', places)));
}

function flowChoice(plot, state) {
  const groups = state.schemes.map((name, scheme) => {
    const those = range(plot.flows.length).filter(at => plot.flows[at].scheme === scheme && !state.hidden.has(scheme));
    const option = at => el('option', { value: at }, `${plot.flows[at].name}, ${quantity('s', total(plot.flows[at].seconds), 3)}`);
    return those.length ? el('optgroup', { label: name }, those.map(option)) : null;
  });
  return groups.filter(Boolean);
}

function flowControls(plot, state, redraw) {
  state.flow = 0;
  const choice = el('select', { 'aria-label': 'Flow' });
  const set = () => {
    choice.replaceChildren(...flowChoice(plot, state));
    const there = [...choice.options].map(option => Number(option.value));
    if (!there.includes(state.flow)) state.flow = there.length ? there[0] : -1;
    choice.value = String(state.flow);
  };
  set();
  state.onToggle = set;
  choice.addEventListener('change', () => { state.flow = Number(choice.value); redraw(); });
  const move = by => () => {
    const there = [...choice.options].map(option => Number(option.value));
    state.flow = there[clamp(there.indexOf(state.flow) + by, 0, there.length - 1)] ?? -1;
    choice.value = String(state.flow);
    redraw();
  };
  return [choice, button('◀', 'Slower flow', move(-1)), button('▶', 'Faster flow', move(1))];
}

const FLOWS = {
  draw: drawFlow,
  schemes: plot => plot.flows.filter((flow, at, all) => all.findIndex(other => other.scheme === flow.scheme) === at),
  axes: () => ({}),
  controls: flowControls,
  below: flowWords,
  redrawBelow: true,
  table: (plot, schemes) => ({
    columns: ['scheme', 'flow', 'part', 'time_s'],
    rows: plot.flows.flatMap(flow => plot.parts.map((part, at) => [schemes[flow.scheme], flow.name, part, flow.seconds[at]])),
  }),
  vega: plot => ({
    mark: 'bar',
    encoding: {
      row: { field: 'scheme', type: 'nominal' },
      y: { field: 'flow', type: 'nominal', sort: null },
      x: vegaField('time_s', { label: 'time', unit: 's' }, plot.flows.map(flow => total(flow.seconds)), { stack: 'zero' }),
      color: { field: 'part', type: 'nominal', sort: null },
    },
    resolve: { scale: { y: 'independent' } },
  }),
};
