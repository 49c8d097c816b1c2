import { ScriptError } from '../script-error.ts';

/**
 * How a text is cut into deltas: not at all, before each word, after every n characters (code points),
 * or between UTF-16 units, where the halves of a surrogate pair come apart as some providers do it.
 */
export type Pieces =
  | 'whole'
  | 'words'
  | 'characters'
  | 'code-units'
  | number
  | ((text: string) => readonly string[]);

/** The text in pieces; none for the empty text. */
export function cutText(text: string, pieces: Pieces): readonly string[] {
  if (text === '') return [];
  if (typeof pieces === 'number') return cutEvery(text, pieces);
  if (typeof pieces === 'function') return assertJoins(text, pieces(text));
  switch (pieces) {
    case 'whole':
      return [text];
    case 'words':
      return text.match(/\s*\S+|\s+/g) ?? [];
    case 'characters':
      return [...text];
    case 'code-units':
      return text.split('');
  }
}

function cutEvery(text: string, length: number): readonly string[] {
  if (!(Number.isInteger(length) && length > 0)) {
    const wayOut = 'use a whole number from 1';
    throw new ScriptError('bad_script', `Cannot cut a text every ${length} characters: ${wayOut}`);
  }
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / length) }, (_, index) =>
    characters.slice(index * length, (index + 1) * length).join(''),
  );
}

function assertJoins(text: string, pieces: readonly string[]): readonly string[] {
  if (pieces.join('') === text) return pieces;
  throw new ScriptError(
    'bad_script',
    'Pieces must join to the text that was cut, and these do not',
  );
}
