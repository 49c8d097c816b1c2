import { defaultMaxValues, type JsonLimits } from './json-result.ts';

/**
 * Has a long text more levels or values than the limits allow, going by its brackets, commas and
 * quotes? Of a JSON text, and of any other up to its error, they tell what JsonScanner would, with no
 * memory; JSON.parse makes all values first, which takes seconds and gigabytes. A text that is too
 * short to do harm is not looked at: its depth is told later, and values it has few.
 */
export function isOverLimits(text: string, limits: JsonLimits): boolean {
  const { maxDepth, maxValues = defaultMaxValues } = limits;
  if (text.length <= harmlessLength && text.length <= maxValues) return false;
  let depth = 0;
  let values = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = closingQuote(text, index + 1);
        break;
      case bracket:
      case brace:
        if (++depth > maxDepth || ++values > maxValues) return true;
        break;
      case closingBracket:
      case closingBrace:
        depth--;
        break;
      case comma:
        if (++values > maxValues) return true;
    }
  }
  return false;
}

/** JSON.parse needs 0.2 s and 100 MB at worst, and looking ahead can cost as much as parsing does. */
const harmlessLength = 2 ** 20;

const quote = 34; // "
const comma = 44; // ,
const bracket = 91; // [
const backslash = 92; // \
const closingBracket = 93; // ]
const brace = 123; // {
const closingBrace = 125; // }

/** Where the string that goes on at `start` ends; the end of the text if it does not. */
function closingQuote(text: string, start: number): number {
  let index = text.indexOf('"', start);
  while (index >= 0 && isEscaped(text, index)) index = text.indexOf('"', index + 1);
  return index < 0 ? text.length : index;
}

/** Is the number of backslashes before it odd? */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === backslash) before--;
  return (index - before) % 2 === 0;
}
