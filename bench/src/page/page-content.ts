/** The length of the answer in deltas, and of the session in items. */
export const deltas = 20_000;
export const items = 5_000;
/** The pause between two deltas. */
export const pauseMs = 1;

/** The text of a delta, counted from 1. */
export function wordAt(count: number): string {
  return `word${count}${count % 40 === 0 ? '.\n\n' : ' '}`;
}

/** The text of an item, counted from 0. */
export function itemAt(index: number): string {
  return `**${index}** says *something* with \`code\`, and then a little more of it.\n\n- one\n- two`;
}
