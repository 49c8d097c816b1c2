import type { Key } from '../../input/key.ts';
import type { PickList } from '../ask/ask.ts';

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
