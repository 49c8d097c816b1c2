import type { Key } from '../../input/keys/key.ts';
import type { ChoiceItem, ChoiceList, Dialog, PickList } from '../contract/dialog.ts';
import { approvalChoices, confirmChoices } from './approval-choices.ts';

/**
 * Returns a key that identifies a dialog. When the key changes, the dialog gets a new list of
 * choices.
 */
export function dialogKey(dialog: Dialog): object | string {
  switch (dialog.type) {
    case 'approval':
      return `${dialog.approval.session} ${dialog.approval.id}`;
    case 'confirm':
      return dialog;
    case 'question':
      return dialog.question;
    case 'pick':
      return dialog.pick;
  }
}

/**
 * Returns the choices of a dialog. If `isNumbered` is true, the screen shows their numbers, so a digit
 * chooses in every list.
 */
export function choiceListOf(dialog: Dialog, isNumbered = false): ChoiceList {
  const list = lettersOf(dialog);
  if (!isNumbered) return list;
  // No item of a printed list is selected until the user presses Up or Down.
  const selected = dialog.type === 'pick' ? -1 : list.selected;
  return { ...list, selected, lettersOnly: false };
}

function lettersOf(dialog: Dialog): ChoiceList {
  switch (dialog.type) {
    case 'approval':
      return onLast(approvalChoices(dialog));
    case 'confirm':
      return onLast(confirmChoices(dialog));
    case 'question': {
      const { options, multiple } = dialog.question;
      const items = [
        ...options.map(({ label, description: detail }) => ({ label, detail })),
        { label: 'Something else', detail: 'type an answer', letter: 'e' },
        { label: 'No answer', letter: 'x' },
      ];
      return { items, selected: 0, ...(multiple && { ticked: new Set<number>() }) };
    }
    case 'pick':
      return { items: dialog.pick.items, selected: dialog.pick.selected ?? 0 };
  }
}

/**
 * Creates a list whose last item is selected. The last item refuses. So Enter can approve only
 * after the user has moved the selection.
 */
function onLast(items: readonly ChoiceItem[]): ChoiceList {
  return { items, selected: items.length - 1, lettersOnly: true };
}

export type ChoiceResult =
  | { readonly type: 'list'; readonly list: ChoiceList }
  | { readonly type: 'chosen'; readonly index: number }
  | { readonly type: 'cancelled' };

/** Returns true if a key only moves the selection. */
export function isMoveKey(key: Key): boolean {
  if (key.type === 'key') return key.name === 'up' || key.name === 'down' || key.name === 'tab';
  return key.type === 'chord' && key.ctrl && (key.char === 'p' || key.char === 'n');
}

/** The number of items by which Page Up and Page Down move the selection. */
const pageLength = 10;

/** Applies a key to a list. */
export function pressChoice(list: ChoiceList, key: Key): ChoiceResult {
  const { selected, items } = list;
  const to = (index: number): ChoiceResult => ({
    type: 'list',
    list: { ...list, selected: (index + items.length) % Math.max(1, items.length) },
  });
  const stay: ChoiceResult = { type: 'list', list };
  if (key.type === 'text') return pressText(list, key.text);
  if (key.type === 'paste') return stay;
  const name = key.type === 'key' ? key.name : `${key.ctrl ? 'ctrl+' : ''}${key.char}`;
  switch (name) {
    case 'up':
    case 'ctrl+p':
      return to(Math.max(0, selected) - 1);
    case 'down':
    case 'ctrl+n':
      return to(selected + 1);
    case 'page_up':
      return to(Math.max(0, selected - pageLength));
    case 'page_down':
      return to(Math.min(items.length - 1, selected + pageLength));
    case 'home':
      return to(0);
    case 'end':
      return to(items.length - 1);
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

/** Applies typed text to a list. A letter or a digit chooses an item, and a space ticks an item. */
function pressText(list: ChoiceList, text: string): ChoiceResult {
  const { items, selected, ticked, lettersOnly = false } = list;
  if (text === ' ' && ticked !== undefined) {
    const changed = new Set(ticked);
    if (!changed.delete(selected)) changed.add(selected);
    return { type: 'list', list: { ...list, ticked: changed } };
  }
  const wanted = text.toLowerCase();
  const byLetter = items.findIndex(({ letter }) => letter === wanted);
  const isDigit = byLetter === -1 && !lettersOnly && /^[1-9]$/.test(wanted);
  const index = isDigit ? Number(wanted) - 1 : byLetter;
  if (items[index] === undefined) return { type: 'list', list };
  return ticked === undefined
    ? { type: 'chosen', index }
    : { type: 'list', list: { ...list, selected: index } };
}

/** A list that shows only the items that contain the typed words. */
export class FilteredPickList {
  readonly #all: PickList;
  #typed = '';
  #filtered: PickList;

  constructor(all: PickList) {
    this.#all = all;
    this.#filtered = filtered(all, '');
  }

  get typed(): string {
    return this.#typed;
  }

  /** The filtered list. It is a new object after each change. */
  get list(): PickList {
    return this.#filtered;
  }

  /** Returns the item that Ctrl-E changes. */
  editedItem({ selected }: ChoiceList): number {
    return selected;
  }

  /** Applies a key to the filter. Returns false if the key does not change the filter. */
  press(key: Key): boolean {
    if (key.type === 'text') this.#typed += key.text;
    else if (key.type === 'key' && key.name === 'backspace') this.#typed = this.#typed.slice(0, -1);
    else return false;
    this.#filtered = filtered(this.#all, this.#typed);
    return true;
  }
}

/**
 * A list whose items the user chooses by number. The typed text applies when the user presses Enter: a number
 * chooses, and words filter the list.
 */
export class NumberedPickList {
  readonly #all: PickList;
  #typed = '';
  #filtered: PickList;
  /** True if the user has selected an item with Up or Down. Only then Enter alone chooses it. */
  #hasMoved = false;

  constructor(all: PickList) {
    this.#all = all;
    this.#filtered = { ...all };
  }

  get typed(): string {
    return this.#typed;
  }

  get list(): PickList {
    return this.#filtered;
  }

  /** Applies a key. Returns the choice, true if the key has its effect here, or false. */
  press(key: Key): boolean | ChoiceResult {
    if (key.type === 'text') this.#typed += key.text;
    else if (key.type === 'key' && key.name === 'backspace') this.#typed = this.#typed.slice(0, -1);
    else if (key.type === 'key' && key.name === 'enter' && !this.#isSelected) return this.#apply();
    else {
      this.#hasMoved ||= isMoveKey(key);
      return false;
    }
    return true;
  }

  /** Returns the item that Ctrl-E changes: the item with the typed number, or the selected item. */
  editedItem({ selected }: ChoiceList): number {
    const number = numberIn(this.#typed);
    this.#typed = '';
    return number > 0 ? number - 1 : selected;
  }

  get #isSelected(): boolean {
    return this.#hasMoved && this.#typed === '';
  }

  #apply(): boolean | ChoiceResult {
    const typed = this.#typed.trim();
    if (typed === '') return true;
    this.#typed = '';
    this.#hasMoved = false;
    const number = numberIn(typed);
    if (number > 0 && number <= this.#filtered.items.length)
      return { type: 'chosen', index: number - 1 };
    this.#filtered = filtered(this.#all, typed);
    return true;
  }
}

/** Returns the number that a text contains, or 0. */
function numberIn(typed: string): number {
  return /^\d{1,4}$/.test(typed.trim()) ? Number(typed) : 0;
}

function filtered(list: PickList, typed: string): PickList {
  const { title, items, onPick, onCancel, edit } = list;
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = items.map((item, index) => ({ item, index }));
  const isIn = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const byLabel = all.filter(({ item }) => isIn(item.label));
  // Details contain dates and ids, so a short word would often match by chance.
  const matches =
    byLabel.length > 0
      ? byLabel
      : all.filter(({ item }) => isIn(`${item.label} ${item.detail ?? ''}`));
  const about = matches.length === 0 ? `no match for “${typed}”` : `“${typed}”`;
  return {
    title,
    hint: typed === '' ? keysOf(list) : about,
    items: matches.map(({ item }) => item),
    onPick: async (index) => {
      const chosen = matches[index];
      if (chosen !== undefined) await onPick(chosen.index);
    },
    onCancel,
    selected: typed === '' ? list.selected : 0,
    edit: edit && {
      ...edit,
      text: (index) => edit.text(matches[index]?.index ?? -1),
      onSubmit: async (index, text) => {
        const changed = matches[index];
        if (changed !== undefined) await edit.onSubmit(changed.index, text);
      },
    },
  };
}

function keysOf({ edit }: PickList): string {
  const change = edit === undefined ? '' : `Ctrl-E ${edit.verb}, `;
  return `Enter selects, ${change}Esc cancels, typing filters`;
}
