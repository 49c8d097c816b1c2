import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { useKey } from './use-key.ts';

const fields = ['.composer textarea', '.elsewhere', 'button', '[type=checkbox]'] as const;

/**
 * Renders a page that listens to some keys. Returns a function that presses a key and reports which
 * listeners ran.
 */
async function renderKeyListeners() {
  const page = await openDomPage('http://page.test/');
  const received: string[] = [];
  function Ear({ name }: { readonly name: string }) {
    useKey(name, () => received.push(name));
    return null;
  }
  await page.render(
    <>
      <form className="composer">
        <textarea />
      </form>
      <input className="elsewhere" />
      <input type="checkbox" />
      <button type="button">Press</button>
      {['alt+y', 'escape', '?'].map((name) => (
        <Ear key={name} name={name} />
      ))}
    </>,
  );
  const press = async (selector: string, init: object) => {
    received.length = 0;
    await page.act(() => {
      const event = { bubbles: true, cancelable: true, ...init };
      page.find(selector).dispatchEvent(new page.window.KeyboardEvent('keydown', event));
    });
    return [...received];
  };
  return { press };
}

test('a held key counts once', async () => {
  const { press } = await renderKeyListeners();
  expect(await press('button', { key: 'y', code: 'KeyY', altKey: true })).toEqual(['alt+y']);
  expect(await press('button', { key: 'y', code: 'KeyY', altKey: true, repeat: true })).toEqual([]);
});

test('text fields keep their keys, except for the message field', async () => {
  const { press } = await renderKeyListeners();
  const heardIn = async (init: object) => {
    const received = [];
    for (const field of fields) received.push(await press(field, init));
    return received;
  };
  const esc = ['escape'];
  expect(await heardIn({ key: 'Escape' })).toEqual([esc, [], esc, esc]);
  expect(await heardIn({ key: '?' })).toEqual([[], [], ['?'], ['?']]);
  const alt = ['alt+y'];
  expect(await heardIn({ key: 'y', code: 'KeyY', altKey: true })).toEqual([alt, [], alt, alt]);
});

test('an Option character of a Mac is typed in a field and is a shortcut elsewhere', async () => {
  const { press } = await renderKeyListeners();
  const yen = { key: '¥', code: 'KeyY', altKey: true };
  expect(await press('.composer textarea', yen)).toEqual([]);
  expect(await press('button', yen)).toEqual(['alt+y']);
});

test('a letter counts by its character, not by its position on the keyboard', async () => {
  const { press } = await renderKeyListeners();
  expect(await press('button', { key: 'z', code: 'KeyY', altKey: true })).toEqual([]);
  expect(await press('button', { key: 'y', code: 'KeyZ', altKey: true })).toEqual(['alt+y']);
});
