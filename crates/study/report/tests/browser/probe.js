// Uses the page like a reader, and writes its findings into the page.
// The page's own script is done by now: this is when everything was drawn, in milliseconds.
const seen = { errors: window.faults, plots: {}, opened: performance.now() };
const marks = figure => figure.querySelectorAll('.frame .data').length;
const press = (node, key) => node.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
try {
  for (const id of window.slotline.plots) {
    const figure = document.getElementById(id);
    const picture = figure.querySelector('.frame > svg');
    const tip = figure.querySelector('.tip');
    const shown = { marks: marks(figure), toggles: [], axes: [], keys: [] };
    shown.odd = /NaN|Infinity|undefined/.test(picture.outerHTML);
    picture.focus();
    shown.focused = document.activeElement === picture;
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'End', 'Home']) {
      press(picture, key);
      shown.keys.push(tip.hidden ? '' : tip.textContent);
    }
    press(picture, 'Escape');
    shown.escaped = tip.hidden;
    const box = picture.getBoundingClientRect();
    picture.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width * 0.6, clientY: box.top + 60 }));
    for (const button of figure.querySelectorAll('.legend button')) {
      const before = marks(figure);
      button.click();
      const off = { pressed: button.getAttribute('aria-pressed'), marks: marks(figure) };
      button.click();
      shown.toggles.push({ before, off: off.marks, pressed: off.pressed, after: marks(figure) });
    }
    for (const button of figure.querySelectorAll('.buttons button')) {
      if (/CSV|Vega|SVG|PNG|PDF/.test(button.textContent)) continue;
      const before = picture.innerHTML;
      button.click();
      const changed = picture.innerHTML !== before;
      const odd = /NaN|Infinity|undefined/.test(picture.outerHTML);
      shown.axes.push({ name: button.textContent, changed, odd, marks: marks(figure) });
      if (button.hasAttribute('aria-pressed')) button.click();
    }
    const choice = figure.querySelector('select');
    if (choice && choice.options.length > 1) {
      const before = picture.innerHTML;
      choice.value = choice.options[choice.options.length - 1].value;
      choice.dispatchEvent(new Event('change'));
      shown.chosen = picture.innerHTML !== before;
    }
    shown.csv = window.slotline.csv(id).split('\n').slice(0, 2);
    shown.rows = window.slotline.csv(id).split('\n').length - 2;
    const spec = JSON.parse(window.slotline.vegaLite(id));
    shown.vega = spec.data.values.length;
    shown.spec = spec;
    const file = new DOMParser().parseFromString(window.slotline.svg(id), 'image/svg+xml');
    shown.file = {
      name: file.documentElement.tagName, parts: file.querySelectorAll('path, rect, circle, text').length,
      odd: /NaN|Infinity|undefined|var\(|class=/.test(window.slotline.svg(id)), white: file.querySelector('rect').getAttribute('fill'),
    };
    shown.wide = figure.scrollWidth <= document.documentElement.clientWidth;
    seen.plots[id] = shown;
  }
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
} catch (error) {
  seen.errors.push(String(error.stack));
}
const out = document.createElement('pre');
out.id = 'seen';
out.textContent = JSON.stringify(seen);
document.body.append(out);
