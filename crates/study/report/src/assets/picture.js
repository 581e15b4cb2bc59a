// A figure as a file: the drawing as the reader sees it, on white paper, with a legend.

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

// The signs of a legend with their widths and texts: schemes, parts of time, or levels of utilisation.
function legendEntries(plot, state) {
  if (plot.kind === 'heat' || plot.kind === 'fabric') {
    const steps = range(LEVELS).map(at => svg('rect', { class: `h${at}`, x: at * 14, y: 1, width: 14, height: 10 }));
    return [{ sign: steps, room: 146, content: 'utilisation from 0 to 100\u00a0%' }];
  }
  if (plot.parts) {
    const bars = plot.bars || plot.flows;
    const used = range(plot.parts.length).filter(part => bars.some(bar => bar.seconds[part] > 0));
    return used.map(part => ({ sign: [svg('rect', { class: `p${part}`, y: 1, width: 11, height: 10 })], room: 17, content: plot.parts[part] }));
  }
  const shown = KINDS[plot.kind].schemes(plot).filter(({ scheme }, at, all) =>
    !state.hidden.has(scheme) && all.findIndex(other => other.scheme === scheme) === at);
  return plot.kind === 'gantt' ? [] : shown.map(({ scheme, note }) => ({
    sign: [...key(scheme).children], room: 40, content: note ? `${state.schemes[scheme]} (${note})` : state.schemes[scheme],
  }));
}

// The legend in rows, and its height.
function legendRows(plot, state, width) {
  const group = svg('g', {});
  let [x, y] = [0, 0];
  for (const { sign, room, content } of legendEntries(plot, state)) {
    const wide = room + widthOf(content);
    if (x && x + wide > width) [x, y] = [0, y + 18];
    group.append(svg('g', { transform: `translate(${px(x)} ${y + 3})` }, sign), text(x + room, y + 13, content));
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
