// Every figure gets its legend, its buttons, its drawing and its cursor.

const data = JSON.parse(document.getElementById('data').textContent);
const views = [];

// The buttons that show and hide schemes.
function legend(plot, kind, state, redraw) {
  const seen = new Set();
  const entries = kind.schemes(plot).filter(({ scheme }) => !seen.has(scheme) && seen.add(scheme));
  return entries.map(({ scheme, note }) => {
    const name = data.schemes[scheme];
    const made = toggle('', `Show ${name}`, true, now => {
      if (now) state.hidden.delete(scheme); else state.hidden.add(scheme);
      if (state.onToggle) state.onToggle();
      redraw();
    });
    made.removeAttribute('aria-label');
    made.classList.add('scheme');
    made.append(key(scheme), el('span', {}, name), note ? el('span', { class: 'note' }, note) : '');
    return made;
  });
}

// The buttons that change axes.
function axisButtons(axes, state, redraw) {
  return Object.entries(axes).filter(([, axis]) => canLog(axis)).map(([name, axis]) => {
    state.log[name] = isLog(axis);
    const content = axis.scale === 'tail' ? 'tail' : `log ${name}`;
    const label = axis.scale === 'tail' ? `Logarithm of the distance to 100 %: ${axis.label}` : `Logarithmic axis: ${axis.label}`;
    return toggle(content, label, state.log[name], now => { state.log[name] = now; redraw(); });
  });
}

function tooltip(details) {
  const row = ({ scheme, part, name, value }) => el('div', { class: 'row' },
    scheme === undefined ? (part === undefined ? null : swatch(`p${part}`)) : key(scheme),
    el('span', {}, [scheme === undefined ? '' : data.schemes[scheme], name].filter(Boolean).join(', ')),
    el('b', {}, value));
  return [el('div', { class: 'head' }, details.title), ...details.rows.map(row)];
}

// The marks of the cursor in the drawing.
function cursorMarks(details) {
  const out = (details.lines || []).map(([x, y, x2, y2]) => svg('path', { class: 'cross', d: `M${px(x)} ${px(y)}L${px(x2)} ${px(y2)}` }));
  if (details.box) {
    const [x, y, width, height] = details.box;
    out.push(svg('rect', { class: 'cross', x: px(x), y: px(y), width: px(width), height: px(height) }));
  }
  for (const { dot, scheme } of details.rows) if (dot) out.push(mark(scheme, dot[0], dot[1], 4.5));
  return out;
}

function mount(plot, figure) {
  const kind = KINDS[plot.kind];
  const title = figure.querySelector('h3').textContent;
  const stage = figure.querySelector('.stage');
  const state = { hidden: new Set(), log: {}, schemes: data.schemes };
  const picture = svg('svg', { role: 'img', tabindex: 0, 'aria-label': `${title}. Arrow keys move a cursor over the values.` });
  const tip = el('div', { class: 'tip', role: 'status', hidden: '' });
  const frame = el('div', { class: kind.tall ? 'frame tall' : 'frame', ...(kind.tall ? { tabindex: -1 } : {}) }, picture);
  let view = null;
  let cursor = null;
  let over = svg('g', {});
  let below = kind.below ? kind.below(plot, state) : null;

  const point = next => {
    cursor = next;
    const details = next === null || next === undefined ? null : view.describe(next);
    tip.hidden = !details;
    over.replaceChildren(...(details ? cursorMarks(details) : []));
    if (!details) return;
    tip.replaceChildren(...tooltip(details));
    const size = frame.clientWidth / view.width;
    const x = clamp(details.x * size + 14, 0, Math.max(0, frame.clientWidth - tip.offsetWidth));
    tip.style.left = `${details.x * size + 14 > frame.clientWidth - tip.offsetWidth ? Math.max(0, details.x * size - tip.offsetWidth - 14) : x}px`;
  };
  const draw = width => {
    view = { width, ...kind.draw(plot, state, width) };
    over = svg('g', { class: 'cursor' });
    picture.setAttribute('viewBox', `0 0 ${width} ${Math.ceil(view.height)}`);
    picture.replaceChildren(svg('title', {}, title), ...view.parts, over);
    point(null);
  };
  const redraw = () => {
    draw(clamp(Math.round(stage.clientWidth || 900), 280, 1100));
    if (kind.redrawBelow) {
      const fresh = kind.below(plot, state);
      below.replaceWith(fresh);
      below = fresh;
    }
  };

  const bar = el('div', { class: 'tools' },
    el('div', { class: 'legend', role: 'group', 'aria-label': 'Schemes' }, legend(plot, kind, state, redraw)),
    el('div', { class: 'buttons', role: 'group', 'aria-label': 'View and data' },
      axisButtons(kind.axes(plot), state, redraw),
      kind.controls ? kind.controls(plot, state, redraw) : [],
      pictureButtons(plot, title, () => svgOf({ plot, title, picture, state, ...view })),
      button('CSV', `Save the data of: ${title}, as CSV`, () => save(`${plot.id}.csv`, 'text/csv', csvOf(plot, data.schemes))),
      button('Vega-Lite', `Save: ${title}, as a Vega-Lite specification`, () => save(`${plot.id}.vl.json`, 'application/json', vegaOf(plot, data.schemes, title)))));
  stage.append(bar, frame, tip);
  if (below) stage.append(below);
  listen(picture, tip, state, () => view, () => cursor, point);
  redraw();
  views.push({ id: plot.id, plot, title, stage, draw, redraw, point, svg: () => svgOf({ plot, title, picture, state, ...view }), cursor: () => cursor });
}

// The cursor follows the pointer, and the arrow keys.
function listen(picture, tip, state, view, cursor, point) {
  const place = event => {
    const box = picture.getBoundingClientRect();
    const size = view().width / (box.width || 1);
    const [x, y] = [(event.clientX - box.left) * size, (event.clientY - box.top) * size];
    point(view().near(x, y));
    tip.style.top = `${picture.parentElement.offsetTop + Math.max(0, event.clientY - box.top - picture.parentElement.scrollTop) + 18}px`;
  };
  picture.addEventListener('pointermove', place);
  picture.addEventListener('pointerdown', place);
  picture.addEventListener('pointerleave', () => point(null));
  picture.addEventListener('blur', () => point(null));
  picture.addEventListener('keydown', event => {
    const far = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far], Home: [-1e9, 0], End: [1e9, 0] };
    const other = event.key === 'Escape' ? () => point(null) : state.keys && state.keys[event.key];
    if (moves[event.key]) point(view().step(cursor(), ...moves[event.key]));
    else if (other) other();
    else return;
    tip.style.top = `${picture.parentElement.offsetTop + 8}px`;
    event.preventDefault();
  });
}

for (const plot of data.plots) mount(plot, document.getElementById(plot.id));

let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  for (const view of views) view.redraw();
});

// Paper has a width of its own, and nothing on it can be opened.
window.addEventListener('beforeprint', () => {
  for (const view of views) view.draw(680);
  for (const details of document.querySelectorAll('details')) details.open = true;
});
window.addEventListener('afterprint', () => { for (const view of views) view.redraw(); });

// The data of figures, for programs that read the page.
const viewOf = id => views.find(view => view.id === id);
window.slotline = {
  plots: views.map(view => view.id),
  svg: id => viewOf(id).svg(),
  csv: id => csvOf(viewOf(id).plot, data.schemes),
  vegaLite: id => vegaOf(viewOf(id).plot, data.schemes, viewOf(id).title),
};
