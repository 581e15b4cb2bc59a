// Elements, and how schemes look: a colour, a dash and a mark each, so that colour is never needed.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const px = value => Math.round(value * 10) / 10;

function text(x, y, content, attributes) {
  return svg('text', { x: px(x), y: px(y), ...attributes }, content);
}

function button(content, label, action) {
  const made = el('button', { type: 'button', 'aria-label': label, title: label }, content);
  made.addEventListener('click', action);
  return made;
}

// A button that is pressed or not.
function toggle(content, label, pressed, action) {
  const made = button(content, label, () => {
    const now = made.getAttribute('aria-pressed') !== 'true';
    made.setAttribute('aria-pressed', now);
    action(now);
  });
  made.setAttribute('aria-pressed', pressed);
  return made;
}

const DASHES = ['', '7 3', '2 3', '9 3 2 3', '12 3', '4 2 1 2', '1 2', '6 2 2 2 2 2'];
const colour = scheme => `c${scheme % 8}`;
// The first eight differ in colour and dash, the next eight in the pair of them.
const dash = scheme => DASHES[(scheme + Math.floor(scheme / 8)) % 8];

const MARKS = [
  r => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  r => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  r => `M0 ${-1.2 * r}L${1.15 * r} ${0.9 * r}H${-1.15 * r}Z`,
  r => `M0 ${-1.35 * r}L${1.35 * r} 0L0 ${1.35 * r}L${-1.35 * r} 0Z`,
  r => `M0 ${1.2 * r}L${1.15 * r} ${-0.9 * r}H${-1.15 * r}Z`,
  r => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
  r => `M${-1.2 * r} 0H${1.2 * r}M0 ${-1.2 * r}V${1.2 * r}`,
  r => `M${-r} ${-0.6 * r}H${r}V${0.6 * r}H${-r}Z`,
];

function mark(scheme, x, y, size, hollow) {
  return svg('path', {
    class: `mark ${colour(scheme)}${hollow ? ' hollow' : ''}`,
    d: MARKS[scheme % 8](size),
    transform: `translate(${px(x)} ${px(y)})`,
  });
}

// The sign beside a scheme's name in legends and tooltips.
function key(scheme) {
  return svg('svg', { class: 'key', viewBox: '0 0 34 12', 'aria-hidden': 'true' },
    svg('path', { class: `line ${colour(scheme)}`, d: 'M1 6H33', 'stroke-dasharray': dash(scheme) }),
    mark(scheme, 17, 6, 3.4));
}

const swatch = name => svg('svg', { class: 'swatch', viewBox: '0 0 12 12', 'aria-hidden': 'true' },
  svg('rect', { class: name, width: 12, height: 12, rx: 2 }));

const pen = document.createElement('canvas').getContext('2d');
function widthOf(content, size = 12) {
  if (!pen) return content.length * size * 0.56;
  pen.font = `${size}px system-ui, sans-serif`;
  return pen.measureText(content).width;
}

// `content` cut to `width`, with an ellipsis if something is missing.
function fitted(content, width, size = 12) {
  if (widthOf(content, size) <= width) return content;
  let fits = content.length;
  while (fits > 1 && widthOf(`${content.slice(0, fits)}…`, size) > width) fits -= 1;
  return `${content.slice(0, fits)}…`;
}
