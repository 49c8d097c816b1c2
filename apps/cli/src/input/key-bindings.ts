import type { EditAction, Target } from './edit-action.ts';
import type { Key } from './key.ts';

function each(keys: string, action: EditAction): readonly (readonly [string, EditAction])[] {
  return keys.split(' ').map((key) => [key, action] as const);
}

const move = (keys: string, to: Target) => each(keys, { type: 'move', to });
const kill = (keys: string, to: Target) => each(keys, { type: 'kill', to });

/** As shells have them. */
const bindings: ReadonlyMap<string, EditAction> = new Map([
  ...move('left ctrl+b', 'left'),
  ...move('right ctrl+f', 'right'),
  ...move('ctrl+left alt+left alt+b', 'word_left'),
  ...move('ctrl+right alt+right alt+f', 'word_right'),
  ...move('home ctrl+a', 'line_start'),
  ...move('end ctrl+e', 'line_end'),
  ...move('ctrl+home alt+home alt+<', 'text_start'),
  ...move('ctrl+end alt+end alt+>', 'text_end'),
  ...each('backspace ctrl+h', { type: 'erase', to: 'left' }),
  ...each('delete ctrl+d', { type: 'erase', to: 'right' }),
  ...kill('ctrl+w alt+backspace ctrl+backspace', 'word_left'),
  ...kill('alt+d ctrl+delete alt+delete', 'word_right'),
  ...kill('ctrl+u', 'line_start'),
  ...kill('ctrl+k', 'line_end'),
  ...each('ctrl+y', { type: 'yank' }),
  // Terminals send one or another of these for the same keys.
  ...each('ctrl+_ ctrl+- ctrl+/', { type: 'undo' }),
  ...each('alt+_ alt+- alt+/', { type: 'redo' }),
  ...each('ctrl+j', { type: 'insert', text: '\n' }),
]);

/** What a key does to the text by itself; nothing for those that depend on more. */
export function boundAction(key: Key): EditAction | undefined {
  switch (key.type) {
    case 'text':
      return { type: 'insert', text: key.text };
    case 'paste':
      return { type: 'paste', text: key.text };
    case 'key':
    case 'chord':
      return bindings.get(keyId(key));
  }
}

/** `ctrl+alt+left`, `alt+b`. Shift is left out: nothing here is told apart by it, but for Enter and Tab. */
export function keyId(key: Exclude<Key, { readonly type: 'text' | 'paste' }>): string {
  const name = key.type === 'key' ? key.name : key.char;
  return `${key.ctrl ? 'ctrl+' : ''}${key.alt ? 'alt+' : ''}${name}`;
}
