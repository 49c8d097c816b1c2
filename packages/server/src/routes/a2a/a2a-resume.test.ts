import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  A2aTranscript,
  a2aBindings,
  a2aClient,
  sent,
  transcriptOf,
} from '../../testing/a2a/a2a-client.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { serveOpenAi as serve } from '../../testing/openai-client.ts';

const thought = { kind: 'reasoning', form: 'full', text: 'Let me think about it.' } as const;
const answer: readonly ScriptEntry[] = [
  [thought, 'I look at the clock now. ', toolCall('now')],
  'It is noon, and the sun is high.',
];
const cuts = Array.from({ length: 12 }, (_, index) => 60 + 330 * index);

test.each(a2aBindings)(
  '24.5: a connection can be cut at any byte, and a subscription gives the same transcript (%s)',
  async (binding) => {
    let gate = Promise.withResolvers<void>();
    const now = defineTool({
      ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
      execute: async () => {
        await gate.promise;
        return 'noon';
      },
    });
    const script = cuts.flatMap(() => answer);
    const { url } = await serve(script, { agent: { tools: [now] } });
    const proxy = await CuttingProxy.before(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const client = await a2aClient(url, { binding, through: `http://127.0.0.1:${proxy.port}` });
    let connections = 0;
    for (const cut of cuts) {
      gate = Promise.withResolvers();
      const contextId = `cut at ${cut}`;
      const live = new A2aTranscript();
      // The same message in the same context is the same task, also if the client does not know its id yet.
      const send = () => client.sendMessageStream(sent('Time?', { contextId, messageId: 'm' }));
      const follow = () =>
        live.id === '' ? send() : client.resubscribeTask({ tenant: '', id: live.id });
      proxy.cutNext(cut);
      for (; live.state !== 'TASK_STATE_COMPLETED'; connections++) {
        try {
          for await (const event of follow()) {
            live.add(event);
            if (live.history.length >= 2) gate.resolve();
          }
        } catch (error) {
          if (!String(error).includes('has ended')) continue;
          live.add({
            payload: { $case: 'task', value: await client.getTask({ tenant: '', id: live.id }) },
          });
        }
      }
      expect(live.texts, contextId).toEqual([
        ...['I look at the clock now. ', 'It is noon, and the sun is high.'],
      ]);
      const stored = transcriptOf(await client.getTask({ tenant: '', id: live.id }));
      expect([stored.texts, stored.history], contextId).toEqual([live.texts, live.history]);
    }
    expect(connections).toBeGreaterThanOrEqual(cuts.length + 8);
  },
);
