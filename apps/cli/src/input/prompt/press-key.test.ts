import { describe, expect, test } from 'vitest';
import type { CompletionSources } from '../completion/completion.ts';
import { emptyKeyState, parseKeys } from '../keys/parse-keys.ts';
import type { Effect } from './press-key.ts';
import { EditorStore } from './use-editor.ts';

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
    get told() {
      return effects.map((effect) =>
        'sent' in effect ? `${effect.type} ${effect.sent.text}` : effect.type,
      );
    },
  };
}

describe('Enter', () => {
  test('sends, and the prompt is empty', () => {
    const done = prompt().press('hello', keys.enter);
    expect([done.told, done.text]).toEqual([['submit hello'], '']);
  });

  test('does not send what is blank', () => {
    const done = prompt().press(' ', keys.enter);
    expect([done.told, done.text]).toEqual([[], ' ']);
  });

  test('adds a line behind a backslash, with Shift, with Alt, and as Ctrl-J', () => {
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

  test('with Alt queues during a run, where there is a queue', () => {
    expect(prompt({ isBusy: true }).press('next', keys.altEnter).told).toEqual(['queue next']);
    expect(prompt({ isBusy: true, canQueue: false }).press('a', keys.altEnter).text).toBe('a\n');
  });
});

describe('Ctrl-C, Esc and Ctrl-D', () => {
  test('stop a run and leave the text', () => {
    const busy = prompt({ isBusy: true }).press('text', keys.ctrlC, keys.escape);
    expect([busy.told, busy.text]).toEqual([['stop', 'stop'], 'text']);
  });

  test('clear the text, which the history keeps, and then ask to leave', () => {
    const idle = prompt().press('text', keys.ctrlC);
    expect([idle.told, idle.text]).toEqual([['keep text'], '']);
    expect(idle.press(keys.up).text).toBe('text');
    expect(idle.press(keys.ctrlC, keys.ctrlC).told).toEqual([
      'keep text',
      'keep text',
      'interrupt',
    ]);
  });

  test('Up in an empty prompt takes back what waits; in any other it is the history', () => {
    expect(prompt({ canTakeBack: true }).press(keys.up)).toMatchObject({
      told: ['take_back'],
      text: '',
    });
    expect(prompt({ canTakeBack: true }).press('a', keys.up)).toMatchObject({
      told: [],
      text: 'older',
    });
    expect(prompt().press(keys.up)).toMatchObject({ told: [], text: 'older' });
  });

  test('Ctrl-D deletes, and leaves only where there is nothing and no run', () => {
    const idle = prompt().press('ab', keys.left, keys.ctrlD);
    expect([idle.told, idle.text]).toEqual([[], 'a']);
    expect(prompt().press(keys.ctrlD).told).toEqual(['leave']);
    expect(prompt({ isBusy: true }).press(keys.ctrlD).told).toEqual([]);
  });

  test('Esc while idle does nothing', () => {
    expect(prompt().press('a', keys.escape)).toMatchObject({ text: 'a', told: [] });
  });
});

describe('the completion list', () => {
  test('opens with what is typed, Up and Down go around in it, Tab takes', () => {
    const typed = prompt().press('/');
    expect(typed.list).toEqual(['>/help', '/model']);
    expect(typed.press(keys.down).list).toEqual(['/help', '>/model']);
    expect(typed.press(keys.down).list).toEqual(['>/help', '/model']);
    expect(typed.press(keys.up, keys.tab).text).toBe('/model ');
    expect(typed.list).toEqual(['>large', 'small']);
    expect(typed.press(keys.down, keys.tab).text).toBe('/model small');
    expect(typed.list).toBeUndefined();
  });

  test('Enter sends what needs no more, and goes on with what does', () => {
    expect(prompt().press('/he', keys.enter).told).toEqual(['submit /help']);
    const model = prompt().press('/mod', keys.enter);
    expect([model.told, model.text]).toEqual([[], '/model ']);
    expect(model.press('sm', keys.enter).told).toEqual(['submit /model small']);
    const file = prompt().press('see @main', keys.enter);
    expect([file.told, file.text]).toEqual([[], 'see @src/main.ts ']);
    expect(file.press(keys.enter).told).toEqual(['submit see @src/main.ts ']);
  });

  test('Enter sends what was typed to its end', () => {
    expect(prompt().press('/model', keys.enter).told).toEqual(['submit /model']);
    expect(prompt().press('@src/main.ts', keys.enter).told).toEqual(['submit @src/main.ts']);
  });

  test('is closed by Esc until something else is typed, and Esc does not stop the run then', () => {
    const busy = prompt({ isBusy: true }).press('@ma', keys.escape);
    expect([busy.list, busy.told]).toEqual([undefined, []]);
    expect(busy.press('i').list).toBeUndefined();
    expect(busy.press(' @o').list).toEqual(['>src/other.ts']);
    expect(busy.press(keys.escape, keys.escape).told).toEqual(['stop']);
  });

  test('is opened again by Tab', () => {
    expect(prompt().press('@ma', keys.escape, keys.tab).list).toEqual(['>src/main.ts']);
  });

  test('does not open where the history is looked at or the cursor passes by', () => {
    const recalled = prompt().press(keys.up, keys.up);
    expect([recalled.text, recalled.list]).toEqual(['/old', undefined]);
    expect(recalled.press(keys.down).text).toBe('older');
    expect(prompt().press('@ma', keys.left).list).toBeUndefined();
  });

  test('shows files that are found while it is wanted', () => {
    const store = new EditorStore();
    let told = 0;
    store.subscribe(() => told++);
    store.press({ type: 'text', text: '@ma' }, { isBusy: false, canQueue: true, width: 40 });
    expect([store.snapshot().menu, store.wantsFiles(), told]).toEqual([undefined, true, 1]);
    store.setSources(sources);
    expect(store.snapshot().menu?.items.map(({ label }) => label)).toEqual(['src/main.ts']);
    expect(told).toBe(2);
  });
});
