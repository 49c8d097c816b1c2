import { cellWidth } from '../../text/cells/cell-width.ts';
import { fitCells } from '../../text/cells/clip-cells.ts';
import type { Row } from '../state/block.ts';
import { clipped, wrapped } from './lines.ts';
import type { Look } from './look.ts';

/** What there is to say about a name has at least so much room, or goes below it. */
const leastRoom = 16;

/** Names in a column, and beside them what there is to say about each, wrapped in a column of its own. */
export function rowLines(look: Look, rows: readonly Row[]): readonly string[] {
  const longest = Math.max(0, ...rows.map(([name]) => cellWidth(name)));
  const isNarrow = look.width - longest - 2 < leastRoom;
  return rows.flatMap(([name, about]) => {
    if (about === '') return [clipped(name, look.width)];
    if (isNarrow) return [clipped(name, look.width), ...wrapped(look, about, '  ')];
    const margin = ' '.repeat(longest + 2);
    const [first = '', ...rest] = wrapped(look, about, margin);
    return [`${fitCells(clipped(name, longest), longest)}  ${first.slice(margin.length)}`, ...rest];
  });
}
