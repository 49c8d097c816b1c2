import { maxTextLength } from './replace-range.ts';

const pasteEnd = '\u001b[201~';

/** Enough for the editor to see that it is too long. */
const maxPasteLength = maxTextLength + 1;

/** Goes on with a paste. Looks at what is new alone, so that a long paste in many chunks costs no more than its length. */
export function readPaste(
  paste: string,
  input: string,
): { readonly text: string; readonly rest: string; readonly isEnded: boolean } {
  const end = input.indexOf(pasteEnd);
  if (end !== -1) {
    const rest = input.slice(end + pasteEnd.length);
    return { text: grown(paste, input.slice(0, end)), rest, isEnded: true };
  }
  const held = heldBack(input);
  const text = grown(paste, input.slice(0, input.length - held));
  return { text, rest: input.slice(input.length - held), isEnded: false };
}

/** How much of the end may be the beginning of the mark. */
function heldBack(input: string): number {
  for (let length = pasteEnd.length - 1; length > 0; length--)
    if (input.endsWith(pasteEnd.slice(0, length))) return length;
  return 0;
}

function grown(paste: string, more: string): string {
  return paste + more.slice(0, Math.max(0, maxPasteLength - paste.length));
}
