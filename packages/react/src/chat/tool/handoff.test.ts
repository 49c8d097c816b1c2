import { type Part, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { handoffTarget, parseHandoff } from './handoff.ts';

const result = (text: string, isError = false): Part => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('c'), name: 'any', text, isError },
});

test('a hand-off call has a target', () => {
  expect(handoffTarget('transfer_to_Billing', result('{"assistant":"Billing"}'))).toBe('Billing');
});

test.each([
  ['a tool of another name', 'assign', result('{"assistant":"Billing"}')],
  [
    'a call with another field',
    'transfer_to_Billing',
    result('{"assistant":"Billing","paid":100}'),
  ],
  ['a call with another result', 'transfer_to_account', result('100 are gone')],
  ['a failed call', 'transfer_to_Billing', result('{"assistant":"Billing"}', true)],
  ['a call without a result', 'transfer_to_Billing', undefined],
])('%s is no hand-off', (_, name, said) => {
  expect(handoffTarget(name, said)).toBeUndefined();
});

test('a hand-off without a call has a source and a target, and other data is no hand-off', () => {
  expect(parseHandoff({ handoff: { from: 'Triage', to: 'Billing' } })).toEqual([
    'Triage',
    'Billing',
  ]);
  for (const other of [{}, null, ['handoff'], { handoff: { from: 'Triage', to: 1 } }])
    expect(parseHandoff(other)).toBeUndefined();
  expect(parseHandoff({ handoff: { from: 'a', to: 'b', why: 'c' } })).toBeUndefined();
  expect(parseHandoff({ handoff: { from: 'a', to: 'b' }, why: 'c' })).toBeUndefined();
});
