// Bars made of parts: the parts of the time of flows.

const total = seconds => seconds.reduce((sum, value) => sum + value, 0);

// One bar of parts from `left`, `width` pixels for `whole` seconds.
function stackedBar(seconds, whole, left, width, y, height) {
  const parts = [];
  let from = left;
  seconds.forEach((value, part) => {
    const wide = whole > 0 ? value / whole * width : 0;
    if (wide > 0) {
      parts.push(svg('rect', { class: `part data p${part}`, x: px(from), y: px(y), width: px(Math.max(wide, 0.5)), height }));
      const label = `${Math.round(value / total(seconds) * 100)}\u00a0%`;
      if (wide > widthOf(label, 11) + 8) {
        parts.push(text(from + wide / 2, y + height / 2 + 4, label, { class: `tiny on p${part}`, 'text-anchor': 'middle' }));
      }
    }
    from += wide;
  });
  return parts;
}

function drawStack(plot, state, width) {
  const bars = plot.bars.filter(bar => !state.hidden.has(bar.scheme));
  const right = width - MARGIN.right;
  const tall = 20;
  const tops = [];
  let y = 4;
  bars.forEach((bar, at) => {
    if (at && bars[at - 1].scheme !== bar.scheme) y += 12;
    tops.push(y);
    y += tall + 24;
  });
  const floor = y + 4;
  const longest = largest(bars.map(bar => total(bar.seconds)).concat(0));
  const axis = state.share ? { label: 'share of time', unit: 'share' } : { label: 'mean time per flow', unit: 's' };
  const across = state.share ? linearScale('share', 0, 1, 0, right, 5)
    : linearScale('s', 0, roundUp('s', longest, 6), 0, right, Math.max(3, Math.floor(width / 100)));
  const parts = [axisBelow(axis, across, floor, 0, 0, right)];
  bars.forEach((bar, at) => {
    const whole = total(bar.seconds);
    const flows = `${grouped(bar.flows)} ${bar.flows === 1 ? 'flow' : 'flows'}`;
    const content = `${state.schemes[bar.scheme]}, ${bar.group} (${flows}): ${quantity('s', whole, 3)}`;
    parts.push(text(1, tops[at] + 13, fitted(content, right), { class: 'title halo' }));
    const wide = state.share ? right : across.at(whole);
    parts.push(...stackedBar(bar.seconds, whole, 0, wide, tops[at] + 19, tall));
  });
  const describe = at => ({
    box: [0, tops[at], width, tall + 20], x: width / 2,
    title: `${state.schemes[bars[at].scheme]}, ${bars[at].group}`,
    rows: partRows(plot.parts, bars[at].seconds),
  });
  const at = y => lastUpTo(tops, y);
  return {
    height: floor + MARGIN.bottom, parts, describe, near: (x, y) => at(y) >= 0 && y < floor ? at(y) : null,
    step: (row, dx, dy) => row === null ? 0 : clamp(row + Math.sign(dx + dy), 0, bars.length - 1),
  };
}

// The parts that took any time, as rows of a tooltip.
function partRows(names, seconds) {
  const whole = total(seconds);
  return names.map((name, part) => ({ part, name, value: `${quantity('s', seconds[part])}, ${portion(seconds[part] / whole)}` }))
    .filter(row => seconds[row.part] > 0);
}

// The meaning of the colours of parts.
function partLegend(names, all) {
  const used = names.map((name, part) => part).filter(part => all.some(seconds => seconds[part] > 0));
  return el('ul', { class: 'parts' }, used.map(part => el('li', {}, swatch(`p${part}`), ` ${names[part]}`)));
}

const STACK = {
  draw: drawStack,
  schemes: plot => plot.bars,
  axes: () => ({}),
  controls: (plot, state, redraw) => [toggle('share', 'Show shares of the time', false, now => { state.share = now; redraw(); })],
  below: plot => partLegend(plot.parts, plot.bars.map(bar => bar.seconds)),
  table: (plot, schemes) => ({
    columns: ['scheme', 'group', 'flows', 'part', 'mean_time_s'],
    rows: plot.bars.flatMap(bar => plot.parts.map((part, at) => [schemes[bar.scheme], bar.group, bar.flows, part, bar.seconds[at]])),
  }),
  vega: plot => ({
    mark: 'bar',
    encoding: {
      y: { field: 'group', type: 'nominal' },
      row: { field: 'scheme', type: 'nominal' },
      x: vegaField('mean_time_s', { label: 'mean time per flow', unit: 's' }, plot.bars.map(bar => total(bar.seconds)), { stack: 'zero' }),
      color: { field: 'part', type: 'nominal', sort: null },
    },
  }),
};
