import { type Item, toolCallId, toolCallPart } from '@millrace/core';
import { createProvider, type ModelRequest } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

test('24.4: an attachment for the user is on the log, and no model receives it', async () => {
  const show = defineTool({
    ...{ name: 'show', description: 'Shows', input: z.object({}) },
    execute: async (_input, { blobs }) => {
      const ref = await blobs.put(new TextEncoder().encode('<p>for the user</p>'));
      const source = { type: 'blob', ...ref } as const;
      const file = { kind: 'file', name: 'app.html', mimeType: 'text/html', source } as const;
      const attachments = [{ ...file, metadata: { audience: 'user' } }];
      return { output: { text: 'Rain in Bern', attachments } };
    },
  });
  const requests: ModelRequest[] = [];
  const script = scriptedProvider([
    { content: { parts: [toolCallPart(toolCallId('call_1'), 'show', {})] } },
    { content: { parts: ['Here you are.'] } },
  ]);
  const provider = createProvider('test', 'test-1', (request, context) => {
    requests.push(request);
    return script.stream(request, context);
  });
  const run = createAgent({ provider, tools: [show] }).run('Show the weather');
  const { items } = await run.result;
  const partsOf = (all: readonly Item[]) => all.flatMap(({ parts }) => parts);
  const stored = partsOf(items).find((part) => part.kind === 'tool_result');
  expect(stored).toMatchObject({ attachments: [{ name: 'app.html' }] });
  const sent = partsOf(requests[1]?.items ?? []).find((part) => part.kind === 'tool_result');
  expect(sent).toMatchObject({ text: 'Rain in Bern' });
  expect(sent).not.toHaveProperty('attachments');
});
