import { describe, expect, test } from 'vitest';
import type { CompletionSources } from '../completion/completion.ts';
import { emptyKeyState, parseKeys } from '../keys/parse-keys.ts';
import { EditorStore } from './editor-store.ts';
import { type Effect, isUsedKey } from './press-key.ts';

const sources: CompletionSources = {
  commands: [
    { name: '/help', description: 'What there is' },
    {
      name: '/model',
      description: 'Another',
      choices: () => [{ value: 'large' }, { value: 'small' }],
    },
  ],
  files: ['src/main.ts', 'src/other.ts'],
};

const keys = {
  enter: '\r',
  altEnter: '\u001b\r',
  shiftEnter: '\u001b[13;2u',
  escape: '\u001b[27u',
  tab: '\t',
  up: '\u001b[A',
  down: '\u001b[B',
  left: '\u001b[D',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
};

function prompt({ isBusy = false, canQueue = true, canTakeBack = false } = {}) {
  const store = new EditorStore([{ text: '/old' }, { text: 'older' }]);
  store.setSources(sources);
  const effects: Effect[] = [];
  return {
    press(...sent: readonly string[]) {
      for (const key of parseKeys(emptyKeyState, sent.join('')).keys) {
        const effect = store.press(key, { isBusy, canQueue, canTakeBack, width: 40 });
        if (effect !== undefined) effects.push(effect);
      }
      return this;
    },
    get text() {
      return store.snapshot().state.text;
    },
    get list() {
      const { menu } = store.snapshot();
      return menu?.items.map(({ label }, index) => (index === menu.selected ? `>${label}` : label));
    },
    get effectTexts() {
      return effects.map((effect) =>
        'sent' in effect ? `${effect.type} ${effect.sent.text}` : effect.type,
      );
    },
  };
}

describe('Enter', () => {
  test('sends and empties the prompt', () => {
    const done = prompt().press('hello', keys.enter);
    expect([done.effectTexts, done.text]).toEqual([['submit hello'], '']);
  });

  test('does not send a blank text', () => {
    const done = prompt().press(' ', keys.enter);
    expect([done.effectTexts, done.text]).toEqual([[], ' ']);
  });

  test('adds a line after a backslash, with Shift, with Alt, and as Ctrl-J', () => {
    const text = prompt().press(
      'a\\',
      keys.enter,
      'b',
      keys.shiftEnter,
      'c',
      keys.altEnter,
      'd\ne',
    ).text;
    expect(text).toBe('a\nb\nc\nd\ne');
  });

  test('with Alt queues during a run if a queue exists', () => {
    expect(prompt({ isBusy: true }).press('next', keys.altEnter).effectTexts).toEqual([
      'queue next',
    ]);
    expect(prompt({ isBusy: true, canQueue: false }).press('a', keys.altEnter).text).toBe('a\n');
  });
});

describe('Ctrl-C, Esc and Ctrl-D', () => {
  test('stop a run and keep the text', () => {
    const busy = prompt({ isBusy: true }).press('text', keys.ctrlC, keys.escape);
    expect([busy.effectTexts, busy.text]).toEqual([['stop', 'stop'], 'text']);
  });

  test('clear the text, record it in the history, and then ask to leave', () => {
    const idle = prompt().press('text', keys.ctrlC);
    expect([idle.effectTexts, idle.text]).toEqual([['keep text'], '']);
    expect(idle.press(keys.up).text).toBe('text');
    expect(idle.press(keys.ctrlC, keys.ctrlC).effectTexts).toEqual([
      'keep text',
      'keep text',
      'interrupt',
    ]);
  });

  test('Up in an empty prompt withdraws a queued message, otherwise it shows the history', () => {
    expect(prompt({ canTakeBack: true }).press(keys.up)).toMatchObject({
      effectTexts: ['take_back'],
      text: '',
    });
    expect(prompt({ canTakeBack: true }).press('a', keys.up)).toMatchObject({
      effectTexts: [],
      text: 'older',
    });
    expect(prompt().press(keys.up)).toMatchObject({ effectTexts: [], text: 'older' });
  });

  test('Ctrl-D deletes, and leaves only with an empty prompt and no run', () => {
    const idle = prompt().press('ab', keys.left, keys.ctrlD);
    expect([idle.effectTexts, idle.text]).toEqual([[], 'a']);
    expect(prompt().press(keys.ctrlD).effectTexts).toEqual(['leave']);
    expect(prompt({ isBusy: true }).press(keys.ctrlD).effectTexts).toEqual([]);
  });

  test('Esc while idle does nothing', () => {
    expect(prompt().press('a', keys.escape)).toMatchObject({ text: 'a', effectTexts: [] });
  });
});

describe('the completion list', () => {
  test('opens while typing, Up and Down cycle, Tab accepts', () => {
    const typed = prompt().press('/');
    expect(typed.list).toEqual(['>/help', '/model']);
    expect(typed.press(keys.down).list).toEqual(['/help', '>/model']);
    expect(typed.press(keys.down).list).toEqual(['>/help', '/model']);
    expect(typed.press(keys.up, keys.tab).text).toBe('/model ');
    expect(typed.list).toEqual(['>large', 'small']);
    expect(typed.press(keys.down, keys.tab).text).toBe('/model small');
    expect(typed.list).toBeUndefined();
  });

  test('Enter sends a complete item, and otherwise only inserts it', () => {
    expect(prompt().press('/he', keys.enter).effectTexts).toEqual(['submit /help']);
    const model = prompt().press('/mod', keys.enter);
    expect([model.effectTexts, model.text]).toEqual([[], '/model ']);
    expect(model.press('sm', keys.enter).effectTexts).toEqual(['submit /model small']);
    const file = prompt().press('see @main', keys.enter);
    expect([file.effectTexts, file.text]).toEqual([[], 'see @src/main.ts ']);
    expect(file.press(keys.enter).effectTexts).toEqual(['submit see @src/main.ts ']);
  });

  test('Enter sends a fully typed command', () => {
    expect(prompt().press('/model', keys.enter).effectTexts).toEqual(['submit /model']);
    expect(prompt().press('@src/main.ts', keys.enter).effectTexts).toEqual(['submit @src/main.ts']);
  });

  test('is closed by Esc until another text is typed, and that Esc does not stop the run', () => {
    const busy = prompt({ isBusy: true }).press('@ma', keys.escape);
    expect([busy.list, busy.effectTexts]).toEqual([undefined, []]);
    expect(busy.press('i').list).toBeUndefined();
    expect(busy.press(' @o').list).toEqual(['>src/other.ts']);
    expect(busy.press(keys.escape, keys.escape).effectTexts).toEqual(['stop']);
  });

  test('is opened again by Tab', () => {
    expect(prompt().press('@ma', keys.escape, keys.tab).list).toEqual(['>src/main.ts']);
  });

  test('does not open on history or cursor moves', () => {
    const recalled = prompt().press(keys.up, keys.up);
    expect([recalled.text, recalled.list]).toEqual(['/old', undefined]);
    expect(recalled.press(keys.down).text).toBe('older');
    expect(prompt().press('@ma', keys.left).list).toBeUndefined();
  });

  test('shows files that are found while it is open', () => {
    const store = new EditorStore();
    let effectTexts = 0;
    store.subscribe(() => effectTexts++);
    store.press({ type: 'text', text: '@ma' }, { isBusy: false, canQueue: true, width: 40 });
    expect([store.snapshot().menu, store.wantsFiles(), effectTexts]).toEqual([undefined, true, 1]);
    store.setSources(sources);
    expect(store.snapshot().menu?.items.map(({ label }) => label)).toEqual(['src/main.ts']);
    expect(effectTexts).toBe(2);
  });
});

test('23: an extension cannot have a key that changes the prompt', () => {
  for (const modifier of ['ctrl', 'alt'] as const)
    for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789') {
      const store = new EditorStore([{ text: 'older' }]);
      store.dispatch({ type: 'set', text: 'some words here' });
      const context = { isBusy: false, canQueue: true, canTakeBack: false, width: 40 };
      for (const name of ['left', 'left', 'left'] as const)
        store.press({ type: 'key', name, ctrl: false, alt: false, shift: false }, context);
      const before = store.snapshot();
      const key = { type: 'chord', char, ctrl: false, alt: false, shift: false } as const;
      const effect = store.press({ ...key, [modifier]: true }, context);
      const isChanged = effect !== undefined || store.snapshot().state !== before.state;
      if (isChanged) expect(isUsedKey(`${modifier}+${char}`), `${modifier}+${char}`).toBe(true);
    }
});
