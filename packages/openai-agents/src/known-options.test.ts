import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { MillraceModel, millraceModels } from './index.ts';
import { createAgentsActivities, openaiAgentsPlugin } from './temporal/activities/index.ts';
import { activityTool, runAgent } from './temporal/workflow/index.ts';

const log = memoryLog();
const parameters = { type: 'object', properties: {}, required: [], additionalProperties: false };
const tool = { name: 'now', description: 'The time.', parameters } as const;

test.each<[string, () => unknown]>([
  ['MillraceModel', () => new MillraceModel({} as never, { streams: [] } as object)],
  ['millraceModels', () => millraceModels({ model: 'x' } as object)],
  ['openaiAgentsPlugin', () => openaiAgentsPlugin({ log, tool: {} } as never)],
  ['createAgentsActivities', () => createAgentsActivities({ log, agents: [] } as never)],
  [
    'a tool of createAgentsActivities',
    () => createAgentsActivities({ log, tools: { now: { execute: () => '', retry: 1 } as never } }),
  ],
  ['activityTool', () => activityTool({ ...tool, timeout: 1 } as never)],
])('%s refuses an unknown option', (_, create) => {
  expect(create).toThrow('there is no option');
});

test('runAgent refuses an unknown option', async () => {
  await expect(runAgent({} as never, { sesion: 's' } as object)).rejects.toThrow(
    'Did you mean session?',
  );
});

test('known options are accepted', () => {
  expect(openaiAgentsPlugin({ log, agents: [], tools: { now: async () => '' } }).name).toBe(
    '@millrace/openai-agents',
  );
});
