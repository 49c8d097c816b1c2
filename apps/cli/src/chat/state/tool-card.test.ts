import { type ToolResultPart, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { newCard, withResult } from './tool-card.ts';

const toolCall = toolCallId('c');
const told = (more: Partial<ToolResultPart>) =>
  withResult(newCard(toolCall, 'bash', 'running'), {
    ...{ kind: 'tool_result', toolCallId: toolCall, name: 'bash', isError: false, text: 'a\nb' },
    ...more,
  }).result?.length;

test('a result is as long as its text', () => {
  expect(told({})).toBe(3);
  expect(told({ value: { outputLength: 4 } })).toBe(3);
});

test('of a long one both ends can be shown', () => {
  const text = `begin ${'x'.repeat(100_000)} end`;
  const { result } = withResult(newCard(toolCall, 'bash', 'running'), {
    ...{ kind: 'tool_result', toolCallId: toolCall, name: 'bash', isError: false, text },
  });
  expect(result?.text).toMatch(/^begin .* end$/s);
  expect(result?.text.length).toBeLessThan(30_000);
  expect(result?.length).toBe(text.length);
});

test('what a command printed is as long as it was before it was clipped', () => {
  const wholeOutput = { hash: 'h', length: 110 };
  expect(told({ value: { outputLength: 100, wholeOutput } })).toBe(100);
});
