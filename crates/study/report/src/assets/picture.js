// A figure as a file: the drawing as the reader sees it, on white paper, with the names of its schemes.

// How elements look. Only the page has the style sheet, so files have these as attributes.
const LOOKS = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin',
  'font-size', 'font-weight', 'text-anchor', 'paint-order'];
const FONT = "Arimo, Arial, Helvetica, 'Liberation Sans', sans-serif";

// Calls `action` while the page has the colours of paper, in the dark, too.
function onPaper(action) {
  const root = document.documentElement;
  const light = document.querySelector('style').textContent.split('}')[0].match(/--\w+: #\w+/g) || [];
  for (const pair of light) root.style.setProperty(...pair.split(': '));
  const out = action();
  for (const pair of light) root.style.removeProperty(pair.split(':')[0]);
  return out;
}

// Gives `copy` the looks of `shown`, and leaves out what is only for the screen.
function inked(shown, copy) {
  const style = getComputedStyle(shown);
  if (shown.nodeType !== 1 || shown.tagName === 'title') return;
  if (shown.tagName !== 'g' && shown.tagName !== 'svg') {
    for (const name of LOOKS) {
      const value = style.getPropertyValue(name);
      if (value && !copy.hasAttribute(name)) copy.setAttribute(name, value);
    }
  }
  copy.removeAttribute('class');
  [...shown.children].forEach((child, at) => inked(child, copy.children[at]));
}

// The names of the visible schemes in rows, and their height.
function legendRows(plot, state, width) {
  const group = svg('g', {});
  let [x, y] = [0, 0];
  const seen = new Set(state.hidden);
  for (const { scheme, note } of KINDS[plot.kind].schemes(plot)) {
    if (seen.has(scheme)) continue;
    seen.add(scheme);
    const content = note ? `${state.schemes[scheme]} (${note})` : state.schemes[scheme];
    const wide = 40 + widthOf(content);
    if (x && x + wide > width) [x, y] = [0, y + 18];
    group.append(svg('g', { transform: `translate(${px(x)} ${y + 3})` }, [...key(scheme).children]), text(x + 40, y + 13, content));
    x += wide + 14;
  }
  return { group, height: x ? y + 26 : 0 };
}

// The file as text.
function svgOf({ plot, title, picture, state, width, height }) {
  return onPaper(() => {
    const legend = legendRows(plot, state, width);
    // Elements have looks only in the page.
    picture.append(legend.group);
    const inkedCopy = shown => {
      const copy = shown.cloneNode(true);
      inked(shown, copy);
      return copy;
    };
    const names = inkedCopy(legend.group);
    legend.group.remove();
    const shown = [...picture.children].filter(node => node.tagName !== 'title' && !node.classList.contains('cursor'));
    const copy = svg('g', { transform: `translate(0 ${legend.height})` }, shown.map(inkedCopy));
    const [wide, tall] = [width, Math.ceil(height) + legend.height];
    const file = svg('svg', { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, 'font-family': FONT },
      svg('title', {}, title), svg('rect', { width: wide, height: tall, fill: '#ffffff' }), names, copy);
    return new XMLSerializer().serializeToString(file);
  });
}

// Gives the drawing to the reader as pixels, four for each of the screen.
function savePng(name, content) {
  const image = new Image();
  image.addEventListener('load', () => {
    const canvas = el('canvas', { width: image.width * 4, height: image.height * 4 });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save(name, 'image/png', blob));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(content)}`;
}

// Prints the drawing on a page of its size: browsers save it as PDF, with the font in it.
function printAlone(content) {
  const [, width, height] = content.match(/width="(\d+)" height="(\d+)"/);
  const alone = el('div', { id: 'alone' });
  const style = el('style', {}, `@page { size: ${width}px ${height}px; margin: 0; } @media print { body > :not(#alone) { display: none; } }`);
  alone.innerHTML = content;
  document.body.append(style, alone);
  window.print();
  style.remove();
  alone.remove();
}

// `content` makes the file.
function pictureButtons(plot, title, content) {
  return [
    button('SVG', `Save the drawing of: ${title}, as SVG`, () => save(`${plot.id}.svg`, 'image/svg+xml', content())),
    button('PNG', `Save the drawing of: ${title}, as PNG`, () => savePng(`${plot.id}.png`, content())),
    button('PDF', `Print the drawing of: ${title}, alone, to save it as PDF`, () => printAlone(content())),
  ];
}
