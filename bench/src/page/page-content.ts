/** The number of deltas in the answer. `items` is the number of items in the long session. */
export const deltas = 20_000;
export const items = 5_000;
/** The number of items in the short session. */
export const fewItems = 3;
/** The number of deltas in the answer on a slow processor, and how many times slower it is. */
export const slowDeltas = 4_000;
export const slowdown = 4;
/** The pause between two deltas, in ms. */
export const pauseMs = 1;

/** Returns the text of a delta. Deltas are counted from 1. */
export function wordAt(count: number): string {
  return `word${count}${count % 40 === 0 ? '.\n\n' : ' '}`;
}

/** Returns the text of an item. Items are counted from 0. */
export function itemAt(index: number): string {
  return `**${index}** says *something* with \`code\`, and then a little more of it.\n\n- one\n- two`;
}

/** Matches the shown text of an item, with Markdown or without it. */
export const shownItem = (index: number) => new RegExp(`\\b${index}(?:\\*\\*)? says`);
