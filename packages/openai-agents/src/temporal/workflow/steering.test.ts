import { itemId } from '@millrace/core';
import type { TranscriptAnswer } from '@millrace/temporal/workflow';
import type { AgentInputItem } from '@openai/agents';
import { expect, test } from 'vitest';
import { Steering } from './steering.ts';

const user = (content: string): AgentInputItem => ({ role: 'user', content });

function answer(...kinds: readonly string[]): TranscriptAnswer {
  const items = kinds.map((kind, at) => ({ by: 'value', itemId: itemId(`${at}`), item: { kind } }));
  return { session: 's', first: 0, items } as TranscriptAnswer;
}

test('only what users say after the run began is news, and each once', () => {
  const steering = new Steering(answer('user'));
  const now = answer('user', 'assistant', 'tool', 'user');
  expect(steering.unseen(now)).toEqual(['3']);
  expect(steering.unseen(now)).toEqual([]);
});

test('what joined keeps its place while the SDK’s input grows', () => {
  const steering = new Steering(answer());
  const [a, b, c, said] = ['a', 'b', 'c', 'said'].map(user) as [
    ...[AgentInputItem, AgentInputItem, AgentInputItem, AgentInputItem],
  ];
  steering.join([said], [a, b]);
  expect(steering.applied([a, b])).toEqual([a, b, said]);
  expect(steering.applied([a, b, c])).toEqual([a, b, said, c]);
  expect(steering.applied([a])).toEqual([a, said]);
});

test('an input that nobody joined is as it was', () => {
  expect(new Steering(answer()).applied('Bread?')).toBe('Bread?');
});
