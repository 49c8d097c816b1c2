// Sends messages to a running agent. The messages are part of its next request. They do not cancel
// the current one. Run it with
//   npx node --conditions=@millrace/source examples/06-steer/main.ts
import { setTimeout } from 'node:timers/promises';
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const copy = defineTool({
  name: 'copy_files',
  description: 'Copies files to the backup',
  input: z.object({ files: z.number() }),
  async *execute({ files }) {
    for (let done = 1; done <= files; done++) {
      await setTimeout(50);
      yield `${done} of ${files} `;
    }
    return `${files} files copied.`;
  },
});

const call = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'copy_files' } as const;
const provider = scriptedProvider([
  { content: { parts: ['Copying. ', { ...call, arguments: '{"files":3}' }] } },
  ({ items }) =>
    items.at(-1)?.kind === 'user' ? 'I will skip the photos.' : 'Next are the photos.',
  'Report sent.',
]);

const agent = createAgent({ provider, tools: [copy] });
const run = agent.run('Back up my files');

for await (const event of run.events) {
  if (event.type === 'tool_execution_started') {
    await run.steer('Skip the photos.');
    await run.followUp('Then send me a report.');
  }
  if (event.type === 'tool_execution_update') console.log(event.text);
  if (event.type === 'turn_finished')
    console.log(
      event.message?.parts.map((part) => ('text' in part ? part.text : `[${part.kind}]`)).join(''),
    );
}
