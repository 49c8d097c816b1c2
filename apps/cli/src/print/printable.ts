import { printable as shown } from '../text/cells/printable.ts';

/** Text for a terminal, piece by piece: whatever a model or a tool says, none of it controls the terminal. */
export function printable(text: string): string {
  // It only ever goes with a newline, which may be in the next piece.
  return shown(text.replaceAll('\r', ''));
}

/** Text in one line of at most so many characters. */
export function oneLine(text: string, length: number): string {
  const start = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...shown(start)];
  if (characters.length <= length) return characters.join('');
  return `${characters.slice(0, length - 1).join('')}…`;
}

/** So many of something, as people say it: `1 session`, `2 sessions`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
