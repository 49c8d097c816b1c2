import { hash } from 'node:crypto';
import {
  type Fact,
  itemId,
  type JsonValue,
  type LogRecord,
  noUsage,
  runId,
  toolCallId,
} from '@millrace/core';
import { expect, test } from 'vitest';
import { foldLoop, loopFold } from './fold-loop.ts';

const call = toolCallId('c1');
const [input, answer] = [itemId('i1'), itemId('a1')];
const stop = { reason: 'stop' } as const;
const message = { type: 'message', when: 'follow_up', items: [] };

/** Facts that reach most fields of the loop state, each with its turn. */
const facts: readonly (readonly [turn: number, fact: Fact])[] = [
  [0, { type: 'run_started', runId: runId('r1') }],
  [0, { type: 'item_started', itemId: input, kind: 'user' }],
  [
    0,
    {
      type: 'command_queued',
      key: 'k1',
      command: message as unknown as { [key: string]: JsonValue },
    },
  ],
  [0, { type: 'guardrail_applied', name: 'g', on: 'input', verdict: 'pass', itemId: input }],
  [1, { type: 'turn_started' }],
  [1, { type: 'item_started', itemId: answer, kind: 'assistant' }],
  [1, { type: 'response_finished', itemId: answer, stop, usage: { ...noUsage, input: 7 } }],
  [1, { type: 'approval_asked', toolCallId: call, name: 'read', rule: 'read *' }],
  [
    1,
    {
      type: 'approval_answered',
      toolCallId: call,
      name: 'read',
      decision: 'allow',
      until: 'session',
    },
  ],
  [1, { type: 'turn_finished', stop }],
  [0, { type: 'compacted', itemIds: [input], summary: 'a summary' }],
  [2, { type: 'turn_started' }],
];

test('the loop state of a fixed log is the one of this version', () => {
  const records = facts.map(([turn, fact], index): LogRecord => {
    const offset = index + 1;
    return {
      offset,
      time: offset,
      turn,
      attempt: turn > 0 ? 1 : 0,
      producer: 'p',
      fact,
    } as LogRecord;
  });
  const state = records.reduce(foldLoop, loopFold.initial);
  const readable = JSON.stringify(state, (_, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
  // If this fails because the fold was changed: increase `version` in `loopFold.stored`, so that no
  // process continues with a state that an earlier program stored, and then the line below.
  const known = { version: 10, sum: 'a783abda' };
  expect({ version: loopFold.stored?.version, sum: hash('sha1', readable).slice(0, 8) }).toEqual(
    known,
  );
});
