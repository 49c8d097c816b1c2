import { type ToolResultPart, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { type CallStatusInput, callStatus } from './call-status.tsx';

const nothing: CallStatusInput = {
  ...{ isOpen: false, isAsked: false, isLive: true },
  ...{ facts: undefined, result: undefined },
};
const result = (isError: boolean): ToolResultPart => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('t'), name: 'run', text: '', isError },
});

test('a call passes all states from the first character to the result', () => {
  const started = { startedAt: 1 };
  const finished = { ...started, finishedAt: 2 };
  const steps: readonly Partial<CallStatusInput>[] = [
    ...[{ isOpen: true }, {}, { isAsked: true }, { facts: started }],
    { facts: started, result: result(false) },
    ...[
      { facts: finished, result: result(false) },
      { facts: finished, result: result(true) },
    ],
    { facts: { rejected: { code: 'denied', message: '' } }, result: result(true) },
  ];
  expect(steps.map((step) => callStatus({ ...nothing, ...step }))).toEqual([
    ...['writing', 'waiting', 'asking', 'running', 'running', 'done', 'failed', 'rejected'],
  ]);
});

test('a stopped call has not failed, and a call that finished anyway is done', () => {
  const facts = { startedAt: 1, finishedAt: 2, isStopped: true };
  expect(callStatus({ ...nothing, facts, result: result(true) })).toBe('stopped');
  expect(callStatus({ ...nothing, facts, result: result(false) })).toBe('done');
});

test('a result without an execution counts as a result', () => {
  expect(callStatus({ ...nothing, result: result(false) })).toBe('done');
});

test('a call without a result is done when the run ends', () => {
  expect(callStatus({ ...nothing, isLive: false })).toBe('done');
});
