import { clientTool, createAgent, defineTool } from '@millrace/agent';
import {
  agentEvents,
  Folder,
  type LogRecord,
  sessionId,
  type ToolResultPart,
  toArray,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { stateSource } from '../../inspector/past-source.ts';
import { FactIndex } from '../state/fact-index.ts';
import { type CallStatus, type CallStatusInput, callStatus, callStatusIn } from './call-status.tsx';

const nothing: CallStatusInput = {
  ...{ isOpen: false, isAsked: false, isLive: true },
  ...{ facts: undefined, result: undefined, isResultOpen: false },
};
const result = (isError: boolean, text = ''): ToolResultPart => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId('t'), name: 'run', text, isError },
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

test('a result without an execution counts as a result when it is whole', () => {
  expect(callStatus({ ...nothing, result: result(false) })).toBe('done');
  const open = { ...nothing, isResultOpen: true };
  expect(callStatus({ ...open, result: result(false, 'ok') })).toBe('running');
  expect(callStatus({ ...open, result: result(false) })).toBe('waiting');
});

test('22.1: a call without a result is not done when the run ends', () => {
  const ended = { ...nothing, isLive: false };
  expect(callStatus(ended)).toBe('unanswered');
  expect(callStatus({ ...ended, facts: { startedAt: 1 } })).toBe('stopped');
  const lost = { startedAt: 1, finishedAt: 2, outcome: 'lost' } as const;
  expect(callStatus({ ...ended, facts: lost })).toBe('unanswered');
  expect(callStatus({ ...nothing, facts: lost })).toBe('waiting');
});

test('22.1: at every moment of a session, only calls with a result are done', async () => {
  const records = await recordedSession();
  const folder = new Folder(sessionId('s'));
  const facts = new FactIndex();
  const seen = new Map<string, CallStatus[]>();
  for (const record of records) {
    const before = folder.state;
    folder.add(record);
    const { state } = folder;
    for (const event of agentEvents(before, record, state)) facts.add(event);
    const source = stateSource({ state, facts, blob: () => Promise.reject() });
    const parts = toArray(state.items).flatMap(({ parts: slots }) => slots);
    const hasResult = (id: string) =>
      parts.some(({ part }) => part?.kind === 'tool_result' && part.toolCallId === id);
    for (const { part } of parts) {
      if (part?.kind !== 'tool_call') continue;
      const status = callStatusIn(source, part.toolCallId, false);
      if (status === 'done') expect(hasResult(part.toolCallId)).toBe(true);
      const known = seen.get(part.name) ?? [];
      if (known.at(-1) !== status) seen.set(part.name, [...known, status]);
    }
  }
  expect(Object.fromEntries(seen)).toEqual({
    look: ['waiting', 'running', 'done'],
    pay: ['waiting', 'asking', 'waiting', 'running', 'done'],
    locate: ['waiting', 'running', 'done'],
  });
});

/**
 * Returns the log of a run with three calls. One runs immediately, one waits for an approval, and
 * one waits for a client.
 */
async function recordedSession(): Promise<readonly LogRecord[]> {
  const log = memoryLog();
  const calls = ['look', 'pay', 'locate'].map((name) => toolCallPart(toolCallId(name), name, {}));
  const defined = { description: 'A tool', input: z.object({}) } as const;
  const agent = createAgent({
    ...{ log, whileAsking: 'park', approve: ({ call }) => (call.name === 'pay' ? 'ask' : 'allow') },
    provider: scriptedProvider([{ content: { parts: calls } }, 'Done.']),
    tools: [
      defineTool({ ...defined, name: 'look', execute: async () => 'seen' }),
      defineTool({ ...defined, name: 'pay', execute: async () => 'paid' }),
      clientTool({ ...defined, name: 'locate', output: z.object({}) }),
    ],
  });
  await agent.run('Go', { session: 's' }).result;
  await agent.approve('s', 'pay');
  await agent.resume('s').result;
  await agent.provideToolResult('s', 'locate', { output: {} });
  const { text } = await agent.resume('s').result;
  expect(text).toBe('Done.');
  return (await log.read(sessionId('s'), {})).records;
}
