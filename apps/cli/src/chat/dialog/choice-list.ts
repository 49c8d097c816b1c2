import type { Key } from '../../input/keys/key.ts';
import type { Ask, ChoiceList, PickList } from '../contract/dialog.ts';
import { approvalChoices } from './approval-choices.ts';

/** What makes one ask another: the list of another one begins anew. */
export function askKey(ask: Ask): object | string {
  switch (ask.type) {
    case 'approval':
      return `${ask.approval.session} ${ask.approval.id}`;
    case 'question':
      return ask.question;
    case 'pick':
      return ask.pick;
  }
}

export function listOf(ask: Ask): ChoiceList {
  switch (ask.type) {
    case 'approval':
      return { items: approvalChoices(ask.approval, ask.others), selected: 0 };
    case 'question': {
      const { options, multiple } = ask.question;
      const items = [
        ...options,
        { label: 'Something else', detail: 'type an answer', letter: 'e' },
        { label: 'No answer', letter: 'x' },
      ];
      return { items, selected: 0, ...(multiple && { ticked: new Set<number>() }) };
    }
    case 'pick':
      return { items: ask.pick.items, selected: 0 };
  }
}

type ChoiceStep =
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

/** A list to choose from, of which those are left that have in them what is typed. */
export class Picking {
  readonly #all: PickList;
  #typed = '';
  #shown: PickList;

  constructor(all: PickList) {
    this.#all = all;
    this.#shown = filtered(all, '');
  }

  /** Another one whenever it changes. */
  get shown(): PickList {
    return this.#shown;
  }

  /** False where the key is not for what is typed. */
  press(key: Key): boolean {
    if (key.type === 'text') this.#typed += key.text;
    else if (key.type === 'key' && key.name === 'backspace') this.#typed = this.#typed.slice(0, -1);
    else return false;
    this.#shown = filtered(this.#all, this.#typed);
    return true;
  }
}

function filtered({ title, items, onPick }: PickList, typed: string): PickList {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.flatMap((item, index) => {
    const text = `${item.label} ${item.detail ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word)) ? [{ item, index }] : [];
  });
  const about = found.length === 0 ? `nothing has “${typed}” in it` : `“${typed}”`;
  return {
    title: `${title}  ${typed === '' ? 'Enter takes it, Esc leaves, typing finds' : about}`,
    items: found.map(({ item }) => item),
    onPick: async (index) => {
      const chosen = found[index];
      if (chosen !== undefined) await onPick(chosen.index);
    },
  };
}
