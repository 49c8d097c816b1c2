import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { streamingContext } from './activities/index.ts';
import { createActivities, millracePlugin, workflowAgent } from './index.ts';

const refusal = expect.objectContaining({ code: 'bad_option' });
const agent = { client: {} as never, log: memoryLog(), name: 'a', taskQueue: 'q' };

test.each<[string, () => unknown]>([
  ['millracePlugin', () => millracePlugin({ agent: [] } as object)],
  ['createActivities', () => createActivities({ provider: {} } as object)],
  ['workflowAgent', () => workflowAgent({ ...agent, queue: 'q' } as never)],
  ['options of workflowAgent', () => workflowAgent({ ...agent, options: { idle: 1 } as object })],
])('%s refuses an unknown option', (_, create) => {
  expect(create).toThrow(refusal);
});

test('streamingContext refuses an unknown option', async () => {
  const options = { log: memoryLog(), sesion: 's' } as never;
  await expect(streamingContext(options, async () => {})).rejects.toEqual(refusal);
});

test('the plugin passes its known options on', () => {
  expect(() => millracePlugin({ agents: [], hasWorkflows: false })).not.toThrow();
});
