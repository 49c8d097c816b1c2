import type { JsonValue } from '@millrace/core';
import { expect, test } from 'vitest';
import { altY, openApprovalPage } from '../../testing/approval-page.tsx';

const renderDock = (...ids: readonly string[]) => openApprovalPage(ids.map((id) => ({ id })));

test('Alt+Y has no effect while a form is open', async () => {
  await using dock = await renderDock('a');
  await dock.wait();
  await dock.press('Deny');
  await dock.key(altY, '.approval input');
  await dock.key(altY);
  await dock.press('Back');
  await dock.wait();
  await dock.press('Change the input');
  await dock.key(altY, '.approval textarea');
  await dock.key(altY);
  expect(dock.answers).toEqual([]);
  await dock.press('Back');
  await dock.wait();
  await dock.key(altY);
  expect(dock.answers).toEqual([['allow', 'a', undefined]]);
});

test('a double click allows one call, not the next one', async () => {
  await using dock = await renderDock('a', 'b');
  await dock.wait();
  await dock.press('Allow');
  for (let clicks = 0; clicks < 10; clicks++) {
    await dock.wait(150);
    await dock.press('Allow');
  }
  expect(dock.answers).toEqual([['allow', 'a', undefined]]);
  await dock.wait();
  await dock.press('Allow');
  expect(dock.answers).toEqual([
    ['allow', 'a', undefined],
    ['allow', 'b', undefined],
  ]);
});

test('a new card ignores clicks and keys', async () => {
  await using dock = await renderDock('a');
  await dock.press('Allow');
  await dock.press('Allow in this session');
  await dock.key(altY);
  expect(dock.answers).toEqual([]);
});

test('a press that started before the card appeared is ignored', async () => {
  await using dock = await renderDock('a');
  await dock.page.act(() => void dock.dispatch(dock.button('Allow'), 'pointerdown'));
  await dock.wait();
  await dock.page.act(() => dock.button('Allow').click());
  expect(dock.answers).toEqual([]);
});

test('a held key allows one call', async () => {
  await using dock = await renderDock('a', 'b', 'c');
  await dock.wait();
  await dock.key(altY);
  for (let repeats = 0; repeats < 40; repeats++) {
    await dock.wait(500);
    await dock.key({ ...altY, repeat: true });
  }
  expect(dock.answers).toEqual([['allow', 'a', undefined]]);
});

test('a double click opens a form but does not submit it', async () => {
  await using dock = await renderDock('a');
  await dock.wait();
  await dock.press('Change the input');
  const twice = new dock.page.window.MouseEvent('click', {
    bubbles: true,
    cancelable: true,
    detail: 2,
  });
  await dock.page.act(() => void dock.button('Allow with this input').dispatchEvent(twice));
  expect(dock.answers).toEqual([]);
});

test('Escape closes a form, keeps its text and is not passed on', async () => {
  await using dock = await renderDock('a');
  let others = 0;
  dock.page.window.addEventListener(
    'keydown',
    (event) => void (event.defaultPrevented || others++),
  );
  await dock.wait();
  await dock.press('Change the input');
  await dock.type('.approval textarea', '{"command":"ls"}');
  await dock.key({ key: 'Escape' }, '.approval textarea');
  expect(others).toBe(0);
  await dock.press('Change the input');
  expect(dock.page.find('.approval textarea')).toHaveProperty('value', '{"command":"ls"}');
  await dock.press('Back');
  await dock.press('Deny');
  await dock.key({ key: 'Escape' }, '.approval input');
  expect(others).toBe(0);
  dock.button('Allow');
});

test('the focus moves to the next card, and from the last one to the message field', async () => {
  await using dock = await renderDock('a', 'b');
  await dock.wait();
  await dock.press('Allow');
  expect(dock.focused()?.textContent).toBe('Deny');
  await dock.wait();
  await dock.press('Deny');
  await dock.press('Back');
  expect(dock.focused()?.textContent).toBe('Deny');
  await dock.wait();
  await dock.press('Allow');
  expect(dock.focused()?.tagName).toBe('TEXTAREA');
});

test.each<readonly [string, JsonValue]>([
  ['null', null],
  ['false', false],
  ['{"a":1}', { a: 1 }],
])('a call can be allowed with %s', async (text, input) => {
  await using dock = await renderDock('a');
  await dock.wait();
  await dock.press('Change the input');
  await dock.type('.approval textarea', text);
  await dock.wait();
  await dock.page.act(() => void dock.dispatch(dock.page.find('.approval form'), 'submit'));
  expect(dock.answers).toEqual([['allow', 'a', { input }]]);
});
