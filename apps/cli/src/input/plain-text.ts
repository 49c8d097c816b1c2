import { stripVTControlCharacters } from 'node:util';

/** Tabs and newlines are text. Everything else that steers a terminal is not. */
const controls = /(?![\t\n])\p{Cc}/gu;

/** Text as the prompt holds it: `\n` at line ends, nothing that steers a terminal, no half characters. */
export function plainText(text: string): string {
  const lines = stripVTControlCharacters(text).replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, '\n');
  return lines.replaceAll(controls, '').toWellFormed();
}
