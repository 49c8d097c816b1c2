export interface Column {
  /** What its widest cell needs. */
  readonly wanted: number;
  /** What its longest word needs. */
  readonly word: number;
}

/** A longer word may be cut. */
const maxWord = 20;

/**
 * How wide columns are in so much room: as wide as they want to be if that fits; otherwise the
 * widest give way, as far as words stay whole. Undefined if that is not enough.
 */
export function columnWidths(
  columns: readonly Column[],
  room: number,
): readonly number[] | undefined {
  const leastOf = ({ wanted, word }: Column) => Math.min(wanted, word, maxWord);
  const widthsFor = (cap: number) =>
    columns.map((column) => Math.max(leastOf(column), Math.min(column.wanted, cap)));
  if (sum(widthsFor(0)) > room) return undefined;
  let [fits, most] = [0, room];
  while (fits < most) {
    const middle = Math.ceil((fits + most) / 2);
    if (sum(widthsFor(middle)) <= room) fits = middle;
    else most = middle - 1;
  }
  let left = room - sum(widthsFor(fits));
  return widthsFor(fits).map((width, index) => {
    const grows = left > 0 && width === fits && width < (columns[index]?.wanted ?? 0);
    if (grows) left--;
    return grows ? width + 1 : width;
  });
}

function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0);
}
