// Words to an agent that is at work: they join its next request, and cancel nothing. Run it with
//   npx node --conditions=@millrace/source examples/06-steer/main.ts
import { setTimeout } from 'node:timers/promises';
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const dig = defineTool({
  name: 'dig',
  description: 'Digs a ditch',
  input: z.object({ metres: z.number() }),
  async *execute({ metres }) {
    for (let done = 1; done <= metres; done++) {
      await setTimeout(50);
      yield `${done} m `;
    }
    return `${metres} m are dug.`;
  },
});

const asks = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'dig' } as const;
const provider = scriptedProvider([
  { content: { parts: ['I begin. ', { ...asks, arguments: '{"metres":3}' }] } },
  ({ items }) => (items.at(-1)?.kind === 'user' ? 'To the left, then.' : 'Straight on.'),
  'And now the gate.',
]);

const agent = createAgent({ provider, tools: [dig] });
const run = agent.run('Dig a race');

for await (const event of run.events) {
  if (event.type === 'tool_execution_started') {
    await run.steer('Bend it to the left.');
    await run.followUp('Then build the gate.');
  }
  if (event.type === 'tool_execution_update') console.log(event.text);
  if (event.type === 'turn_finished')
    console.log(
      event.message?.parts.map((part) => ('text' in part ? part.text : `[${part.kind}]`)).join(''),
    );
}
