import { printable as shown } from '../text/cells/printable.ts';

/**
 * Makes a piece of text safe for a terminal. Text of a model or a tool cannot control the terminal.
 */
export function printable(text: string): string {
  // A carriage return belongs to a newline that may be in the next piece.
  return shown(text.replaceAll('\r', ''));
}

/** Returns the text as one line with a maximum number of characters. */
export function oneLine(text: string, length: number): string {
  const start = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...shown(start)];
  if (characters.length <= length) return characters.join('');
  return `${characters.slice(0, length - 1).join('')}…`;
}

/** Returns a count with its noun: `1 session`, `2 sessions`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
