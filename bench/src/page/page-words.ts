/** How long the answer is, in deltas, and how long the session, in items. */
export const deltas = 20_000;
export const items = 5_000;
/** Between two deltas. */
export const pauseMs = 1;

/** The deltas of the answer, from 1. */
export function wordAt(count: number): string {
  return `word${count}${count % 40 === 0 ? '.\n\n' : ' '}`;
}

/** The items of the session, from 0. */
export function itemAt(index: number): string {
  return `**${index}** says *something* with \`code\`, and then a little more of it.\n\n- one\n- two`;
}
