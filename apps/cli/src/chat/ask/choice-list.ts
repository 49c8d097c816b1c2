import type { Key } from '../../input/key.ts';

export interface ChoiceItem {
  readonly label: string;
  readonly detail?: string | undefined;
  /** A letter that chooses it at once. */
  readonly letter?: string | undefined;
}

/** Something to choose from, with the keys. */
export interface ChoiceList {
  readonly items: readonly ChoiceItem[];
  readonly selected: number;
  /** Those that are ticked, where several may be. */
  readonly ticked?: ReadonlySet<number> | undefined;
}

export type ChoiceStep =
  | { readonly type: 'list'; readonly list: ChoiceList }
  | { readonly type: 'chosen'; readonly index: number }
  | { readonly type: 'cancelled' };

/** What a key does to a list. */
export function pressChoice(list: ChoiceList, key: Key): ChoiceStep {
  const { selected, items } = list;
  const to = (index: number): ChoiceStep => ({
    type: 'list',
    list: { ...list, selected: (index + items.length) % Math.max(1, items.length) },
  });
  const stay: ChoiceStep = { type: 'list', list };
  if (key.type === 'text') return pressText(list, key.text);
  if (key.type === 'paste') return stay;
  const name = key.type === 'key' ? key.name : `${key.ctrl ? 'ctrl+' : ''}${key.char}`;
  switch (name) {
    case 'up':
    case 'ctrl+p':
      return to(selected - 1);
    case 'down':
    case 'ctrl+n':
      return to(selected + 1);
    case 'tab':
      return to(selected + (key.shift ? -1 : 1));
    case 'enter':
      return items.length === 0 ? stay : { type: 'chosen', index: selected };
    case 'escape':
    case 'ctrl+c':
    case 'ctrl+d':
      return { type: 'cancelled' };
    default:
      return stay;
  }
}

/** Letters and digits choose, a space ticks. What comes at once is more likely a person who types on. */
function pressText(list: ChoiceList, text: string): ChoiceStep {
  const { items, selected, ticked } = list;
  if (text === ' ' && ticked !== undefined) {
    const changed = new Set(ticked);
    if (!changed.delete(selected)) changed.add(selected);
    return { type: 'list', list: { ...list, ticked: changed } };
  }
  const wanted = text.toLowerCase();
  const byLetter = items.findIndex(({ letter }) => letter === wanted);
  const index = byLetter === -1 && /^[1-9]$/.test(wanted) ? Number(wanted) - 1 : byLetter;
  if (items[index] === undefined) return { type: 'list', list };
  return ticked === undefined
    ? { type: 'chosen', index }
    : { type: 'list', list: { ...list, selected: index } };
}
