// Ranges of values laid onto ranges of pixels, and the axes drawn for them.

// One, two or five times a power of ten: `span` in about `parts` steps.
function roundStep(span, parts) {
  const rough = span / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(digit => digit * power).find(step => step >= rough * (1 - 1e-9));
}

// `parts`: about how many ticks there is room for.
function linearScale(unit, low, high, from, to, parts) {
  if (!(high > low)) high = low + (Math.abs(low) || 1);
  const [factor, symbol] = multiple(unit, high);
  const step = roundStep((high - low) / factor, parts);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / factor / step - 1e-9); i * step * factor <= high * (1 + 1e-9); i += 1) {
    ticks.push([i * step * factor, grouped((i * step).toFixed(decimals))]);
  }
  return {
    unit, low, high, ticks, suffix: symbol,
    at: value => from + (value - low) / (high - low) * (to - from),
    inverse: pixel => low + (pixel - from) / (to - from) * (high - low),
  };
}

// The end of a linear axis: whole steps.
function roundUp(unit, high, parts) {
  if (!(high > 0)) return 1;
  const [factor] = multiple(unit, high);
  const step = roundStep(high / factor, parts) * factor;
  return Math.ceil(high / step - 1e-9) * step;
}

// Values that are not above zero are drawn at the lower end.
function logScale(unit, low, high, from, to, parts) {
  if (!(low > 0)) { low = 1; high = 10; }
  if (!(high > low * 1.0001)) { low /= 2; high *= 2; }
  const decades = Math.log10(high / low);
  const digits = decades * 9 <= parts * 1.2 ? range(9).map(at => at + 1) : decades * 3 <= parts * 1.2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / parts));
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
    if (digits.length === 1 && ((e % every) + every) % every !== 0) continue;
    for (const digit of digits) {
      const value = digit * 10 ** e;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push([value, quantity(unit, value)]);
    }
  }
  const span = Math.log(high / low);
  // Values that are close to each other have the labels of a linear scale.
  const labels = ticks.length < 2 ? linearScale(unit, low, high, from, to, parts) : { ticks, suffix: '' };
  return {
    unit, low, high, ticks: labels.ticks, suffix: labels.suffix,
    at: value => value <= low ? from : from + Math.log(value / low) / span * (to - from),
    inverse: pixel => low * Math.exp((pixel - from) / (to - from) * span),
  };
}

// Shares by the logarithm of their distance to 100 %: the steps from 90 % to 99 % to 99.9 % are equal.
function tailScale(least, from, to) {
  const floor = clamp(least / 2, 1e-9, 0.05);
  const span = Math.log(1 / floor);
  const ticks = [[0, '0']];
  for (let left = 0.1; left >= floor; left /= 10) ticks.push([1 - left, significant((1 - left) * 100, 12)]);
  return {
    unit: 'share', low: 0, high: 1, ticks, suffix: '%',
    at: value => from + Math.log(1 / Math.max(floor, 1 - value)) / span * (to - from),
    inverse: pixel => 1 - Math.exp(-(pixel - from) / (to - from) * span),
  };
}

// The scale for `axis` with `values`, as chosen by the reader.
function scaleFor(axis, log, values, from, to, parts) {
  const finite = values.filter(Number.isFinite);
  if (axis.unit === 'share' && !log) return linearScale('share', 0, 1, from, to, Math.min(parts, 5));
  if (axis.scale === 'tail' && log) {
    return tailScale(smallest(finite.filter(v => v < 1).map(v => 1 - v).concat(0.05)), from, to);
  }
  const high = largest(finite.concat(0));
  if (log) {
    const positive = finite.filter(v => v > 0);
    return logScale(axis.unit, smallest(positive), largest(positive), from, to, parts);
  }
  return linearScale(axis.unit, smallest(finite.concat(0)), high, from, to, parts);
}

const isLog = axis => axis.scale === 'log-first';
const canLog = axis => axis.scale !== 'linear';

function titleOf(axis, scale) {
  return scale.suffix ? `${axis.label} (${scale.suffix})` : axis.label;
}

const MARGIN = { top: 26, bottom: 42, right: 14 };

// Room for the labels of a vertical axis.
const labelRoom = scale => 12 + largest(scale.ticks.map(([, content]) => widthOf(content)).concat(12));

// Ticks that do not touch each other.
function sparse(scale) {
  let end = -Infinity;
  return scale.ticks.filter(([value, content]) => {
    const half = widthOf(content) / 2;
    const at = scale.at(value);
    if (at - half < end + 8) return false;
    end = at + half;
    return true;
  });
}

// The grid and labels of a horizontal axis at `y`, with lines up to `top`.
function axisBelow(axis, scale, y, top, left, right) {
  const out = svg('g', { class: 'axis' });
  out.append(svg('path', { class: 'grid', d: scale.ticks.map(([v]) => `M${px(scale.at(v))} ${top}V${y}`).join('') }));
  out.append(svg('path', { class: 'base', d: `M${left} ${y}H${right}` }));
  for (const [value, content] of sparse(scale)) {
    const at = scale.at(value);
    const half = widthOf(content) / 2;
    out.append(text(clamp(at, Math.max(half, left - 8 + half), right + MARGIN.right - half), y + 17, content, { 'text-anchor': 'middle' }));
  }
  out.append(text((left + right) / 2, y + 36, titleOf(axis, scale), { 'text-anchor': 'middle', class: 'title' }));
  return out;
}

// The grid and labels of a vertical axis; its title stands above it.
function axisLeft(axis, scale, left, right) {
  const out = svg('g', { class: 'axis' });
  out.append(svg('path', { class: 'grid', d: scale.ticks.map(([v]) => `M${left} ${px(scale.at(v))}H${right}`).join('') }));
  let last = Infinity;
  for (const [value, content] of scale.ticks) {
    const at = scale.at(value);
    if (last - at < 13) continue;
    last = at;
    out.append(text(left - 7, at + 4, content, { 'text-anchor': 'end' }));
  }
  out.append(text(0, 12, titleOf(axis, scale), { class: 'title' }));
  return out;
}
