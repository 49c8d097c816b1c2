import { type ToolResultPart, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { ChatSource } from '../state/chat-source.ts';

const resultOf = (text: string, isError = false): ToolResultPart => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('t'), name: 'run', text, isError },
});

async function renderResult(part: ToolResultPart, isStopped = false, isOpen = false) {
  const page = await openDomPage('http://page.test/');
  const { ResultView } = await import('./result-view.tsx');
  const { jsonEntries } = await import('../content/json-tree.tsx');
  const { terminalText } = await import('../content/output-text.tsx');
  await Promise.all([jsonEntries.load(), terminalText.load()]);
  const source = {} as ChatSource;
  await page.render(<ResultView {...{ source, part, isStopped, isOpen }} />);
  return page;
}

test('a long result can be shown completely and folded again', async () => {
  const page = await renderResult(resultOf(`${'x'.repeat(20_000)} end`));
  const press = () => page.act(() => page.find('button').click());
  const text = () => page.find('.output-text').textContent;
  expect(text()).not.toContain('end');
  await press();
  expect(text()).toContain('end');
  await press();
  expect(text()).not.toContain('end');
});

test('an error result is marked as an error', async () => {
  const page = await renderResult(resultOf('No such file', true));
  expect(page.find('.result').hasAttribute('data-error')).toBe(true);
});

test('a stopped call is not marked as an error', async () => {
  const page = await renderResult(resultOf('It was stopped before it was done.', true), true);
  expect(page.find('.result').hasAttribute('data-error')).toBe(false);
});

test.each([
  ['progress', true, false],
  ['a result', false, false],
  ['an error', false, true],
])('direction marks in %s are escaped', async (_what, isOpen, isError) => {
  const output = 'ok \u202Etxt.exe\u202C, \u2066\u2066and\u2069';
  const page = await renderResult(resultOf(output, isError), false, isOpen);
  expect(page.text()).toBe('ok \\u202Etxt.exe\\u202C, \\u2066 ×2and\\u2069');
});

test('everything else in a result is unchanged, including blanks', async () => {
  const output = `name${' '.repeat(60)}size\r\n\n\n\n\u00a0\u200d👨\u200d👩 שלום`;
  const page = await renderResult(resultOf(output));
  expect(page.text()).toBe(output);
  expect(page.findAll('.escape')).toEqual([]);
});

test('more of a very long result is shown step by step', async () => {
  const page = await renderResult(resultOf(`${'x'.repeat(150_000)} end`));
  const shown = () => page.find('.output-text').textContent.length;
  const press = (words: string) =>
    page.act(() => {
      for (const button of page.findAll('button'))
        if (button.textContent?.startsWith(words)) button.click();
    });
  await press('Show more of 150,004');
  expect(shown()).toBe(100_000);
  await press('Show all 150,004');
  expect(shown()).toBe(150_004);
  await press('Show less');
  expect(shown()).toBe(8000);
});

test('JSON is a tree whose entries unfold, and the text is one press away', async () => {
  const value = { city: 'Bern', days: Array.from({ length: 120 }, (_, at) => ({ at })) };
  const page = await renderResult(resultOf(JSON.stringify(value)));
  expect(page.find('.json-tree').textContent).toBe('{2}city: "Bern"days: [120]');
  const days = page.findAll('details')[1] ?? expect.fail();
  await page.act(() => {
    days.setAttribute('open', '');
    days.dispatchEvent(new page.window.Event('toggle'));
  });
  expect(page.findAll('.json-entries .json-entries > .json-entry')).toHaveLength(50);
  expect(page.text()).toContain('Show more of 70');
  const raw = page.findAll('button').find((one) => one.textContent === 'Show the text');
  await page.click(raw ?? expect.fail());
  expect(page.find('.output-text').textContent).toBe(JSON.stringify(value));
});

test.each(['{}', '[]', '{"a":', '"text"', '12'])('%s is shown as text', async (text) => {
  const page = await renderResult(resultOf(text));
  expect(page.find('.output-text').textContent).toBe(text);
});

test('colors of a terminal are colors of the page, and hidden directions are still shown', async () => {
  const page = await renderResult(resultOf('\u001b[1;31mFAIL\u001b[0m a\u202Eb'));
  expect(page.find('[data-color="1"][data-bold]').textContent).toBe('FAIL');
  expect(page.text()).toBe('FAIL a\\u202Eb');
});
