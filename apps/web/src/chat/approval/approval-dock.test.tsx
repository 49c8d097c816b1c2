import type { TaskHandle } from '@millrace/client';
import {
  type AskedApproval,
  emptyState,
  type JsonValue,
  sessionId,
  toolCallId,
} from '@millrace/core';
import type { Element, HTMLButtonElement } from 'happy-dom';
import { expect, test, vi } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { ChatSource } from '../state/chat-source.ts';

type Answers = (readonly [string, string, unknown])[];

const asked = (id: string): AskedApproval => ({
  ...{ turn: 1, attempt: 1, toolCallId: toolCallId(id), name: 'bash' },
  ...{ reason: undefined, rule: 'bash(*)' },
});

/** A chat source that contains only approval requests. */
class AskingSource {
  asked: readonly AskedApproval[];
  readonly #listeners = new Set<() => void>();

  constructor(ids: readonly string[]) {
    this.asked = ids.map(asked);
  }

  get state() {
    return { ...emptyState(sessionId('s')), asked: this.asked };
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  part = () => undefined;
  subscribePart = () => () => {};

  answered(id: string): void {
    this.asked = this.asked.filter((one) => one.toolCallId !== id);
    for (const listener of this.#listeners) listener();
  }
}

/** Longer than the pause before a card accepts an answer. */
const armingMs = 5000;

async function renderDock(...ids: readonly string[]) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const page = await openDomPage('http://page.test/');
  const { ApprovalDock } = await import('./approval-dock.tsx');
  const source = new AskingSource(ids);
  const answers: Answers = [];
  const answer = (word: string) => async (id: string, options?: unknown) => {
    answers.push([word, id, options]);
    source.answered(id);
    return {};
  };
  const handle = { approve: answer('allow'), deny: answer('deny') } as unknown as TaskHandle;
  await page.render(
    <>
      <form className="composer">
        <textarea />
      </form>
      <ApprovalDock source={source as unknown as ChatSource} handle={handle} />
    </>,
  );
  const { window } = page;
  const { document } = window;
  const button = (name: string): HTMLButtonElement => {
    const all = [...document.querySelectorAll('button')];
    const match = all.find(({ textContent }) => textContent === name);
    if (match === undefined) throw new Error(`There is no button ${name}`);
    return match;
  };
  const dispatch = (target: Element, type: string) =>
    target.dispatchEvent(new window.Event(type, { bubbles: true, cancelable: true }));
  return {
    ...{ page, answers, button, dispatch },
    focused: () => document.activeElement,
    /** Presses a button as a mouse does. */
    press: (name: string) =>
      page.act(() => {
        const target = button(name);
        target.focus();
        dispatch(target, 'pointerdown');
        dispatch(target, 'pointerup');
        if (!target.disabled) target.click();
      }),
    key: (init: object, selector = '.approval') =>
      page.act(() => {
        const down = { bubbles: true, cancelable: true, ...init };
        page.find(selector).dispatchEvent(new window.KeyboardEvent('keydown', down));
      }),
    type: (selector: string, text: string) =>
      page.act(() => {
        const field = page.find(selector);
        const { prototype } = window.HTMLTextAreaElement;
        Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, text);
        dispatch(field, 'input');
      }),
    wait: (ms = armingMs) => page.act(() => void vi.advanceTimersByTime(ms)),
    [Symbol.asyncDispose]: async () => void vi.useRealTimers(),
  };
}

const altY = { key: 'y', code: 'KeyY', altKey: true };

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
  expect(dock.focused()?.className).toBe('approval');
  await dock.wait();
  await dock.press('Deny');
  await dock.press('Back');
  expect(dock.focused()?.className).toBe('approval');
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
  await dock.page.act(() => void dock.dispatch(dock.page.find('.approval form'), 'submit'));
  expect(dock.answers).toEqual([['allow', 'a', { input }]]);
});
