import type { KeyboardEvent } from 'react';
import { describe, expect, test } from 'vitest';
import { keyAction } from './key-action.ts';

type KeyInput = Parameters<typeof keyAction>[0];

/** Returns the name of the action for a key. `within` is the focused element. */
function actionOf(
  key: string,
  { within = '', ...more }: Partial<KeyInput> & { within?: string } = {},
) {
  const done: string[] = [];
  const note = (word: string) => () => void done.push(word);
  const fits = (selector: string) => within !== '' && selector.split(/, ?/).includes(within);
  const target = { closest: (selector: string) => (fits(selector) ? target : null) };
  const keys = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  const event = { key, ...keys, target, ...more } as unknown as KeyboardEvent;
  keyAction(event, {
    zoom: { zoomIn: note('zoom in'), zoomOut: note('zoom out'), showAll: note('show all') },
    toggle: note('toggle'),
    toNow: note('now'),
    toStart: note('start'),
    step: (by, far) => void done.push(`${far ? 'far ' : ''}${by}`),
  })?.();
  return done.join();
}

describe('a key in the inspector', () => {
  test.each([
    ['ArrowRight', '1'],
    ['ArrowLeft', '-1'],
    ['Home', 'start'],
    ['End', 'now'],
    [' ', 'toggle'],
    ['+', 'zoom in'],
    ['-', 'zoom out'],
    ['0', 'show all'],
    ['x', ''],
  ])('%s does %s', (key, what) => {
    expect(actionOf(key)).toBe(what);
  });

  test('with Shift moves to the next fact', () => {
    expect(actionOf('ArrowRight', { shiftKey: true })).toBe('far 1');
  });

  test('is ignored in fields, and Space is ignored on buttons', () => {
    expect(actionOf('ArrowLeft', { within: 'input' })).toBe('');
    expect(actionOf(' ', { within: 'button' })).toBe('');
    expect(actionOf('ArrowLeft', { within: 'button' })).toBe('-1');
  });

  test('with Ctrl, Alt or Command is ignored', () => {
    expect(actionOf('0', { ctrlKey: true })).toBe('');
    expect(actionOf('ArrowLeft', { altKey: true })).toBe('');
    expect(actionOf('+', { metaKey: true })).toBe('');
  });
});
