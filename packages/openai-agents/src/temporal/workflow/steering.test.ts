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

test('only user messages after the start of the run are new, each once', () => {
  const steering = new Steering(answer('user'));
  const now = answer('user', 'assistant', 'tool', 'user');
  expect(steering.newItemIds(now)).toEqual(['3']);
  expect(steering.newItemIds(now)).toEqual([]);
});

test('inserted messages keep their position while the SDK input grows', () => {
  const steering = new Steering(answer());
  const [a, b, c, said] = ['a', 'b', 'c', 'said'].map(user) as [
    ...[AgentInputItem, AgentInputItem, AgentInputItem, AgentInputItem],
  ];
  steering.insert([said], [a, b]);
  expect(steering.apply([a, b])).toEqual([a, b, said]);
  expect(steering.apply([a, b, c])).toEqual([a, b, said, c]);
  expect(steering.apply([a])).toEqual([a, said]);
});

test('an input without inserted messages is unchanged', () => {
  expect(new Steering(answer()).apply('Bread?')).toBe('Bread?');
});
