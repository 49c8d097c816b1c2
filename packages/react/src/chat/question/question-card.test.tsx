import type { TaskHandle } from '@millrace/client';
import { type AskedApproval, type JsonObject, sessionId, toolCallId } from '@millrace/core';
import { afterEach, expect, test, vi } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { hostilePayloads } from '../../testing/hostile-payloads.ts';
import { armingMs, TestScreen } from '../../testing/test-screen.ts';

afterEach(() => void vi.useRealTimers());

/** Renders a form. Returns the page and the answers that it sent. */
async function renderForm(
  properties: JsonObject,
  required: readonly string[] = [],
  message = 'Who?',
) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const page = await openDomPage('http://page.test/');
  const screen = new TestScreen(page.window);
  const { QuestionCard } = await import('./question-card.tsx');
  const answers: unknown[] = [];
  const answer = (word: string) => async (id: string, options?: object) => {
    answers.push([word, id, options]);
  };
  const handle = { approve: answer('allow'), deny: answer('deny') } as unknown as TaskHandle;
  const form = { message, schema: { type: 'object', properties, required } as JsonObject };
  const call = { toolCallId: toolCallId('c1'), agents: ['tool shop_order'], input: null };
  const asked: AskedApproval = {
    ...{ turn: 1, attempt: 1, toolCallId: toolCallId('q1'), name: 'shop_order' },
    ...{ reason: undefined, rule: undefined },
    from: { ...call, session: sessionId('s'), form },
  };
  await page.render(<QuestionCard {...{ asked, form, handle }} more={0} />);
  const button = (name: string) =>
    page.findAll('button').find(({ textContent }) => textContent === name) ??
    expect.fail(`There is no button ${name}`);
  const wait = () => page.act(() => void vi.advanceTimersByTime(armingMs));
  return { page, screen, answers, button, wait };
}

const order = {
  name: { type: 'string', title: 'Your name', maxLength: 100 },
  count: { type: 'integer', title: 'How many', minimum: 1 },
  isGift: { type: 'boolean', title: 'It is a gift' },
  size: { type: 'string', title: 'Size', oneOf: [{ const: 's', title: 'Small' }, { const: 'l' }] },
  extras: { type: 'array', title: 'Extras', items: { type: 'string', enum: ['bow', 'card'] } },
};

test('an answer has the content of all fields', async () => {
  const { page, answers, wait } = await renderForm(order, ['name', 'count']);
  const [name, count] = page.findAll('input:not([type=checkbox]):not([type=radio])');
  await page.type(name ?? expect.fail(), 'Ada');
  await page.type(count ?? expect.fail(), '3');
  await wait();
  await page.click(page.find('input[type=radio]'));
  for (const box of page.findAll('input[type=checkbox]')) await page.click(box);
  await page.submit(page.find('form'));
  const input = { name: 'Ada', count: 3, isGift: true, size: 's', extras: ['bow', 'card'] };
  expect(answers).toEqual([['allow', 'q1', { input }]]);
});

test('a wrong field has its problem, gets the focus, and nothing is sent', async () => {
  const { page, answers } = await renderForm(order, ['name', 'count']);
  const [name, count] = page.findAll('input:not([type=checkbox]):not([type=radio])');
  await page.type(name ?? expect.fail(), 'Ada');
  await page.type(count ?? expect.fail(), 'three');
  await page.submit(page.find('form'));
  expect(answers).toEqual([]);
  expect(page.find('[role=alert]').textContent).toBe('Enter a number.');
  expect(count?.getAttribute('aria-invalid')).toBe('true');
  expect(page.window.document.activeElement).toBe(count);
});

test('the user can decline or dismiss a form', async () => {
  const declined = await renderForm(order);
  await declined.wait();
  await declined.page.click(declined.button('Decline'));
  expect(declined.answers).toEqual([['deny', 'q1', {}]]);
});

test('the user can dismiss a form, and a second press sends nothing', async () => {
  const { page, answers, button, wait } = await renderForm(order);
  await wait();
  await page.click(button('Dismiss'));
  await page.click(button('Decline'));
  await page.submit(page.find('form'));
  expect(answers).toEqual([['deny', 'q1', { reason: 'dismissed' }]]);
});

test('attack: 18.156 a form without fields is shown, and waits for the user', async () => {
  const { page, answers, button, wait } = await renderForm({}, [], 'Delete the database?');
  expect(page.find('.question-message').textContent).toBe('Delete the database?');
  expect(answers).toEqual([]);
  expect(page.window.document.activeElement?.tagName).not.toBe('BUTTON');
  await wait();
  await page.submit(page.find('form'));
  expect(button('Accept')).toBeDefined();
  expect(answers).toEqual([['allow', 'q1', { input: {} }]]);
});

test('18.921: attack: a form appears under the second click of a double click, or under Enter', async () => {
  const { page, answers, button, wait } = await renderForm({}, [], 'Delete the database?');
  for (const name of ['Accept', 'Decline', 'Dismiss']) {
    expect(button(name).hasAttribute('disabled'), name).toBe(true);
    await page.click(button(name));
  }
  await page.submit(page.find('form'));
  expect(answers).toEqual([]);
  await wait();
  await page.click(button('Accept'));
  expect(answers).toEqual([['allow', 'q1', { input: {} }]]);
});

test('18.921: attack: a form moves under the pointer', async () => {
  const { page, screen, answers, button, wait } = await renderForm(order);
  await wait();
  screen.moveCards(40, false);
  await page.click(button('Send'));
  await page.click(button('Decline'));
  expect(answers).toEqual([]);
});

test('attack: a form that cannot be shown can only be declined', async () => {
  const { page, answers, button } = await renderForm({ a: { type: 'object' } });
  expect(page.text()).toContain('This form cannot be shown');
  expect(button('Send').hasAttribute('disabled')).toBe(true);
  await page.submit(page.find('form'));
  expect(answers).toEqual([]);
});

test('attack: hostile texts of a form stay text', async () => {
  const texts = [...new Set(hostilePayloads.map(({ text }) => text.slice(0, 200)))];
  const fields = texts
    .slice(0, 24)
    .map((text): readonly [string, JsonObject] => [
      ...([text, { type: 'string', title: text, description: text }] as const),
    ]);
  const options = texts.map((text) => ({ const: text, title: text, description: text }));
  const choices = { type: 'string', title: 'Choose', oneOf: options };
  const { page } = await renderForm(
    { ...Object.fromEntries(fields), choices },
    [],
    texts.join('\n').slice(0, 8000),
  );
  expect(page.findAll('textarea')).toHaveLength(24);
  expect(page.findAll('input')).toHaveLength(texts.length);
  const own = 'section, header, h2, code, p, form, div, label, span, textarea, input, fieldset';
  const others = `:not(${own}, legend, button, svg, path, circle)`;
  expect(page.findAll(others).map(({ outerHTML }) => outerHTML)).toEqual([]);
  expect(page.findAll('[onerror], [onclick], [href], [src], [style]')).toEqual([]);
});
