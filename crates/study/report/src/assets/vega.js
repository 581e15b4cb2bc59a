// What the specifications of all figures share: the units, colours and order of the page.

const hexOf = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// An axis with the labels of the page.
function vegaAxis(label, unit, log, values) {
  const shares = unit === 'share';
  if (!log) {
    const [factor, symbol] = multiple(unit, shares ? 1 : largest(values.filter(Number.isFinite).concat(0)));
    return { title: symbol ? `${label} (${symbol})` : label, axis: { labelExpr: `format(datum.value / ${factor}, ',.6~r')` } };
  }
  const each = MULTIPLES[unit].map(([factor, symbol]) => [factor, `format(datum.value / ${factor}, ',.4~r') + ' ${symbol}'`]);
  const smallest = each[each.length - 1][1];
  return { title: label, axis: { labelExpr: each.slice(0, -1).reduceRight((rest, [factor, words]) => `datum.value >= ${factor * (1 - 1e-9)} ? ${words} : ${rest}`, smallest) } };
}

// A quantitative field along an axis of the page.
function vegaField(field, axis, values, others) {
  const finite = values.filter(value => value !== null && Number.isFinite(value));
  const log = isLog(axis) && finite.every(value => value > 0);
  return { field, type: 'quantitative', scale: log ? { type: 'log' } : { zero: true }, ...vegaAxis(axis.label, axis.unit, log, finite), ...others };
}

// Colours, dashes and order of schemes and parts, wherever `encoding` names them.
function withLooks(encoding, plot, schemes) {
  const parts = plot.parts || [];
  const dashes = range(schemes.length).map(at => dash(at).split(' ').filter(Boolean).map(Number));
  const own = { domain: schemes, range: range(schemes.length).map(at => hexOf(colour(at))) };
  const ranges = {
    scheme: { color: own, strokeDash: { domain: schemes, range: dashes } },
    part: { color: { domain: parts, range: range(parts.length).map(at => hexOf(`p${at}`)) } },
    line: { color: own },
    utilisation: { color: { domain: [0, 1], range: range(LEVELS).map(at => hexOf(`h${at}`)) } },
  };
  const looks = ([channel, value]) => {
    const scale = (ranges[value.field] || {})[channel];
    const sort = ['scheme', 'line'].includes(value.field) && ['color', 'row', 'yOffset', 'strokeDash', 'shape'].includes(channel) ? { sort: schemes } : {};
    return [channel, { ...value, ...sort, ...(scale ? { scale } : {}) }];
  };
  return Object.fromEntries(Object.entries(encoding).map(entry => Array.isArray(entry[1]) ? entry : looks(entry)));
}
