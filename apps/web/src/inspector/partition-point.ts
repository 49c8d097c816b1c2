/** How many entries at the start of a list fit, where all that fit stand before all that do not. */
export function partitionPoint(length: number, fits: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
