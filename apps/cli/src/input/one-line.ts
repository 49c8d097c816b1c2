import { printable } from '../text/cells/printable.ts';

/** On one line, with nothing that steers a terminal: names of files can have anything in them. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, ' ');
}
