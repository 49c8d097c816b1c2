import { expect, test } from 'vitest';
import { OutputTail } from '../../shell/child-lines.ts';

const asIs = (text: string) => text;

function tailOf(...chunks: readonly string[]): OutputTail {
  const tail = new OutputTail();
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail;
}

test('the last output is kept, up to a limit', () => {
  const tail = tailOf(...Array.from({ length: 10_000 }, (_, at) => `line ${at}\n`));
  expect(tail.text(asIs)).toMatch(/line 9998\nline 9999$/);
  expect(tail.text(asIs).length).toBeLessThanOrEqual(2_000);
});

test('colours are removed, and cut characters are valid text', () => {
  expect(tailOf('\u001b[31mred\u001b[0m\n').text(asIs)).toBe('red');
  const text = tailOf('é'.repeat(20_000)).text(asIs);
  expect(text.isWellFormed()).toBe(true);
  expect(text.endsWith('é')).toBe(true);
});

test('a secret at the limit is redacted', () => {
  const redact = (text: string) => text.replaceAll('hush-hush', '[secret]');
  for (let length = 1_980; length < 2_010; length++) {
    const text = tailOf('hush-hush', 'x'.repeat(length)).text(redact);
    expect(text).not.toMatch(/h/);
  }
});
