import { type ToolResultPart, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { ChatSource } from '../state/chat-source.ts';

const resultOf = (text: string, isError = false): ToolResultPart => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('t'), name: 'run', text, isError },
});

async function viewing(part: ToolResultPart, isStopped = false) {
  const page = await openDomPage('http://page.test/');
  const { ResultView } = await import('./result-view.tsx');
  const source = {} as ChatSource;
  await page.render(<ResultView {...{ source, part, isStopped }} isOpen={false} />);
  return page;
}

test('all of a long result can be seen, and folded again', async () => {
  const page = await viewing(resultOf(`${'x'.repeat(20_000)} end`));
  const press = () => page.act(() => page.find('button').click());
  const text = () => page.find('.result-text').textContent;
  expect(text()).not.toContain('end');
  await press();
  expect(text()).toContain('end');
  await press();
  expect(text()).not.toContain('end');
});

test('what failed is shown as a fault', async () => {
  const page = await viewing(resultOf('No such file', true));
  expect(page.find('.result').hasAttribute('data-error')).toBe(true);
});

test('what somebody stopped is not shown as one', async () => {
  const page = await viewing(resultOf('It was stopped before it was done.', true), true);
  expect(page.find('.result').hasAttribute('data-error')).toBe(false);
});
