import { expect, expectTypeOf, test } from 'vitest';
import { contentSchema } from '../../../server/src/contract/content.ts';
import type { PastRequestInfo } from '../../../server/src/contract/inspection.ts';
import type {
  AgentInfo as ServedInfo,
  TaskSummary as ServedSummary,
  Task as ServedTask,
} from '../../../server/src/contract/task.ts';
import { userContent } from '../task/task-commands.ts';
import {
  type AgentInfo,
  kindOf,
  type PastRequest,
  type Task,
  type TaskStatus,
  type TaskSummary,
} from './server-types.ts';

test('what a server sends has the types that are named here', () => {
  expectTypeOf<ServedTask>().toExtend<Task>();
  expectTypeOf<ServedSummary>().toExtend<TaskSummary>();
  expectTypeOf<ServedInfo>().toExtend<AgentInfo>();
  expectTypeOf<PastRequestInfo>().toExtend<PastRequest>();
  expectTypeOf<ServedTask['status']>().toEqualTypeOf<TaskStatus | null>();
});

test.each([
  ['a text', 'Hi'],
  ['a text with its format', { type: 'text', content: '# Hi', format: 'markdown' }],
  ['data', { type: 'data', data: { a: [1, null] } }],
] as const)('%s is content that a server takes', (_what, input) => {
  const content = userContent(input);
  expect(contentSchema.parse(content)).toMatchObject({ ...content, author: 'user' });
});

test.each([
  ['sync', { kind: 'loop' }, 'loop'],
  ['sync', { kind: 'sync' }, 'sync'],
  ['sync', null, 'sync'],
  ['async', { kind: 'async' }, 'async'],
  ['agentic', null, 'async'],
] as const)('an agent of type %s with %j is spoken to as %s', (acp_type, metadata, kind) => {
  const info = { acp_type, registration_metadata: metadata } as unknown as AgentInfo;
  expect(kindOf(info)).toBe(kind);
});
