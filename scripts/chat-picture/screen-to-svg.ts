import { graphemes } from '../../apps/cli/src/text/cells/cell-width.ts';
import { parseAnsi } from '../../apps/cli/src/text/cells/span.ts';
import type { Style } from '../../apps/cli/src/text/theme/style.ts';
import { colorOf, palette } from './palette.ts';

interface PictureOptions {
  readonly columns: number;
  /** The text in the title bar of the window. */
  readonly title: string;
}

const cell = { width: 8.4, height: 19, fontSize: 14 };
const margin = { side: 18, top: 44, bottom: 14 };

/**
 * Draws the lines of a colored terminal screen as an SVG window. The layout does not depend on the
 * font.
 */
export function screenToSvg(lines: readonly string[], { columns, title }: PictureOptions): string {
  const width = round(columns * cell.width + 2 * margin.side);
  const height = lines.length * cell.height + margin.top + margin.bottom;
  const rows = lines.flatMap((line, row) => runsOf(line).map((run) => drawRun(run, row)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>text{font:${cell.fontSize}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${palette.text};white-space:pre}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9" fill="${palette.background}" stroke="${palette.frame}"/>
${['#ff5f57', '#febc2e', '#28c840'].map((fill, index) => `<circle cx="${22 + index * 19}" cy="20" r="6" fill="${fill}"/>`).join('')}
<text x="${width / 2}" y="24.5" text-anchor="middle" style="fill:${palette.title};font-size:13px">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`;
}

/** Consecutive text with one style. */
interface Run {
  readonly text: string;
  readonly column: number;
  readonly cells: number;
  readonly style: Style;
}

/**
 * Splits a line into runs. Wide characters and texts after a gap get their own run, so that their
 * position does not depend on the font.
 */
function runsOf(line: string): readonly Run[] {
  const runs: Run[] = [];
  let column = 0;
  for (const { text, style } of parseAnsi(line)) {
    for (const { text: one, width } of graphemes(text)) {
      const last = runs.at(-1);
      const isNext = last?.style === style && last.column + last.cells === column;
      const isAlone = width !== 1 || (last !== undefined && last.cells !== lengthOf(last.text));
      if (last !== undefined && isNext && !isAlone)
        runs[runs.length - 1] = { ...last, text: last.text + one, cells: last.cells + width };
      else if (width > 0) runs.push({ text: one, column, cells: width, style });
      column += width;
    }
  }
  return runs.flatMap(splitAtGaps);
}

/** Splits a run at two or more spaces, unless the spaces have a background color. */
function splitAtGaps(run: Run): readonly Run[] {
  if (appearanceOf(run.style).back !== undefined || run.cells !== lengthOf(run.text)) return [run];
  return [...run.text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: text, index }) => ({
    ...run,
    text,
    column: run.column + lengthOf(run.text.slice(0, index)),
    cells: lengthOf(text),
  }));
}

function lengthOf(text: string): number {
  return [...text].length;
}

interface Appearance {
  readonly back: string | undefined;
  readonly css: string;
}

function appearanceOf(style: Style): Appearance {
  const fore = style.findLast((code) => /^(?:3[0-8]|9\d)/.test(code));
  const back = style.findLast((code) => /^(?:4[0-8]|10\d)/.test(code));
  const colors = [fore, back].map((code) => (code === undefined ? undefined : colorOf(code)));
  const isReversed = style.includes('7');
  const [front, behind] = isReversed
    ? [colors[1] ?? palette.background, colors[0] ?? palette.text]
    : colors;
  const css = [
    front === undefined ? '' : `fill:${front}`,
    style.includes('1') ? 'font-weight:bold' : '',
    style.includes('2') ? 'opacity:.62' : '',
    style.includes('3') ? 'font-style:italic' : '',
    style.includes('4') ? 'text-decoration:underline' : '',
    style.includes('9') ? 'text-decoration:line-through' : '',
  ];
  return { back: behind, css: css.filter((one) => one !== '').join(';') };
}

function drawRun({ text, column, cells, style }: Run, row: number): string {
  const { back, css } = appearanceOf(style);
  const x = round(margin.side + column * cell.width);
  const top = margin.top + row * cell.height;
  const width = round(cells * cell.width);
  const behind =
    back === undefined
      ? ''
      : `<rect x="${x}" y="${top}" width="${width}" height="${cell.height}" fill="${back}"/>`;
  const styleAttribute = css === '' ? '' : ` style="${css}"`;
  const size = `textLength="${width}" lengthAdjust="spacingAndGlyphs"`;
  return `${behind}<text x="${x}" y="${round(top + cell.fontSize)}" ${size}${styleAttribute}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
