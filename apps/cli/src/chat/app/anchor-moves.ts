// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these move the cursor
/** Down to the last row of what was drawn, and from there up to where the drawing begins. */
const overBottom = /\u001b\[(\d+)B\u001b\[1G\u001b\[(\d+)A/g;
const nextRow = /\u001b\[E/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: these move the cursor

/**
 * The same moves from where the cursor is, not from the row below everything. A terminal that became
 * lower drops the rows below the cursor, and may tell of it much later: until then a move down would
 * end early, the move up too high, and what was printed would be drawn over. A row that was dropped is
 * made again by a line feed, and by nothing else.
 */
export function anchorMoves(text: string): string {
  return text
    .replace(overBottom, (_, down: string, up: string) => {
      const rows = Number(up) - Number(down);
      const move = rows === 0 ? '' : rows > 0 ? `\u001b[${rows}A` : `\u001b[${-rows}B`;
      return `\u001b[1G${move}`;
    })
    .replace(nextRow, '\r\n');
}
