// Numbers for people, with a suitable multiple of the unit and only significant digits.

const MULTIPLES = {
  's': [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns'], [1e-12, 'ps']],
  'bit/s': [[1e12, 'Tbit/s'], [1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'Kbit/s'], [1, 'bit/s']],
  'B': [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'KB'], [1, 'B']],
  'x': [[1, '']],
  '1': [[1, '']],
  'share': [[0.01, '%']],
};

// [factor, symbol] of the largest multiple that is not above `magnitude`.
function multiple(unit, magnitude) {
  const all = MULTIPLES[unit];
  const size = Math.abs(magnitude) * (1 + 1e-9);
  if (size === 0) return all.find(([factor]) => factor === 1) || all[0];
  return all.find(([factor]) => factor <= size) || all[all.length - 1];
}

// At most `digits` significant digits, without trailing zeros and without an exponent.
function significant(value, digits) {
  if (value === 0) return '0';
  const decimals = Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  const text = value.toFixed(decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : grouped(text);
}

// Separates thousands if there are more than four digits.
function grouped(text) {
  const [whole, ...rest] = String(text).split('.');
  const separated = whole.replace('-', '').length > 4 ? whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',') : whole;
  return [separated, ...rest].join('.');
}

// `value` with its unit, as `12.34 ms`.
function quantity(unit, value, digits = 4) {
  const [factor, symbol] = multiple(unit, value);
  const text = significant(value / factor, digits);
  return symbol ? `${text}\u00a0${symbol}` : text;
}

// `value` of an axis for a tooltip. Shares near 100 % have more digits.
function shown(unit, value) {
  if (unit === 'share') return `${significant(value * 100, value > 0.99 ? 6 : 4)}\u00a0%`;
  if (unit === 'x') return `${significant(value, 4)}×`;
  return quantity(unit, value);
}

// A part of a whole in percent. Small parts are shown as less than 0.01 %.
const portion = share => share > 0 && share < 1e-4 ? '< 0.01\u00a0%' : `${significant(Math.round(share * 1e4) / 100, 3)}\u00a0%`;

const percent = permille => permille < 0 ? 'unknown' : `${significant(permille / 10, 3)}\u00a0%`;

// Index of the last of ascending `values` that is not above `target`; -1 if there is none.
function lastUpTo(values, target) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= target) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// Index of the one of ascending `values` that is nearest to `target`.
function nearest(values, target) {
  const at = lastUpTo(values, target);
  if (at < 0) return 0;
  const next = Math.min(at + 1, values.length - 1);
  return values[next] - target < target - values[at] ? next : at;
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const range = n => Array.from({ length: n }, (_, at) => at);
const largest = values => values.reduce((most, value) => Math.max(most, value), -Infinity);
const smallest = values => values.reduce((least, value) => Math.min(least, value), Infinity);
