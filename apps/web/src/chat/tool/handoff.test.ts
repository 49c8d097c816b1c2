import { type Part, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { handedOverTo, handoffIn } from './handoff.ts';

const result = (text: string, isError = false): Part => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('c'), name: 'any', text, isError },
});

test('a call that handed over says to whom', () => {
  expect(handedOverTo('transfer_to_Baker', result('{"assistant":"Baker"}'))).toBe('Baker');
});

test.each([
  ['a tool of another name', 'assign', result('{"assistant":"Baker"}')],
  ['one that says more', 'transfer_to_Baker', result('{"assistant":"Baker","paid":100}')],
  ['one that says something else', 'transfer_to_account', result('100 are gone')],
  ['one that failed', 'transfer_to_Baker', result('{"assistant":"Baker"}', true)],
  ['one without a result', 'transfer_to_Baker', undefined],
])('%s is no hand-off', (_, name, said) => {
  expect(handedOverTo(name, said)).toBeUndefined();
});

test('a hand-off without a call says from whom as well, and nothing else is taken for one', () => {
  expect(handoffIn({ handoff: { from: 'Miller', to: 'Baker' } })).toEqual(['Miller', 'Baker']);
  for (const other of [{}, null, ['handoff'], { handoff: { from: 'Miller', to: 1 } }])
    expect(handoffIn(other)).toBeUndefined();
  expect(handoffIn({ handoff: { from: 'a', to: 'b', why: 'c' } })).toBeUndefined();
  expect(handoffIn({ handoff: { from: 'a', to: 'b' }, why: 'c' })).toBeUndefined();
});
