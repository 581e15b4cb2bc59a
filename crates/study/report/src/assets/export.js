// A figure's data as CSV, and as a Vega-Lite specification with the data in it.

const KINDS = {
  lines: LINES, study: STUDY, bars: BARS, stack: STACK, heat: HEAT, gantt: GANTT, sequence: SEQUENCE, fabric: FABRIC, flows: FLOWS,
};

function csvCell(value) {
  if (value === null || value === undefined) return '';
  const text = String(value).replace(/\u00a0/g, ' ');
  return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function csvOf(plot, schemes) {
  const { columns, rows } = KINDS[plot.kind].table(plot, schemes);
  return [columns, ...rows].map(row => row.map(csvCell).join(',')).join('\n') + '\n';
}

function vegaOf(plot, schemes, title) {
  const kind = KINDS[plot.kind];
  const table = kind.table(plot, schemes);
  const values = table.rows.map(row => Object.fromEntries(table.columns.map((name, at) => [name, row[at]])));
  const drawn = kind.vega(plot, table);
  const looked = layer => ({ ...layer, ...(layer.encoding ? { encoding: withLooks(layer.encoding, plot, schemes) } : {}), ...(layer.layer ? { layer: layer.layer.map(looked) } : {}) });
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    title, width: 560, height: ['lines', 'study', 'sequence'].includes(plot.kind) ? 300 : undefined,
    data: { values }, ...onPaper(() => looked(drawn)),
  };
  return JSON.stringify(spec, null, 1);
}

// Gives `content` to the reader as a file.
function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = el('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
