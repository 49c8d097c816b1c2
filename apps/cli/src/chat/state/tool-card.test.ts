import { type ToolResultPart, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { appendTail, emptyTail, lastLines, newCard, withResult } from './tool-card.ts';

const toolCall = toolCallId('c');
const resultPart = (more: Partial<ToolResultPart>) =>
  withResult(newCard(toolCall, 'bash', 'running'), {
    ...{ kind: 'tool_result', toolCallId: toolCall, name: 'bash', isError: false, text: 'a\nb' },
    ...more,
  }).result?.length;

test('the length of a result is that of its text', () => {
  expect(resultPart({})).toBe(3);
  expect(resultPart({ value: { outputLength: 4 } })).toBe(3);
});

test('a long result keeps its start and end', () => {
  const text = `begin ${'x'.repeat(100_000)} end`;
  const { result } = withResult(newCard(toolCall, 'bash', 'running'), {
    ...{ kind: 'tool_result', toolCallId: toolCall, name: 'bash', isError: false, text },
  });
  expect(result?.text).toMatch(/^begin .* end$/s);
  expect(result?.text.length).toBeLessThan(30_000);
  expect(result?.length).toBe(text.length);
});

test("the length of a command's output is that before clipping", () => {
  const wholeOutput = { hash: 'h', length: 110 };
  expect(resultPart({ value: { outputLength: 100, wholeOutput } })).toBe(100);
});

const line = fc.string({ maxLength: 200 }).map((text) => text.replaceAll('\n', ''));

test('lastLines returns the last lines of the whole text and counts all others', () => {
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 400 }),
      fc.integer({ min: 1, max: 6 }),
      (lines, count) => {
        const pieces = lines.map((text) => `${text}\n`);
        const tail = pieces.reduce(appendTail, emptyTail);
        const shown = lastLines(tail, count);
        const wanted = lines.slice(-count).map((text) => text.replace(/\r$/, ''));
        expect(shown.lines.map((text) => text.replace(/\r$/, ''))).toEqual(
          lines.length === 0 ? [] : wanted,
        );
        expect(shown.above + shown.lines.length).toBe(lines.length);
      },
    ),
  );
});

test('the tail stays small', () => {
  let tail = emptyTail;
  for (let index = 0; index < 1000; index++) {
    tail = appendTail(tail, '0123456789'.repeat(100));
    expect(tail.text.length).toBeLessThan(10_000);
  }
});
