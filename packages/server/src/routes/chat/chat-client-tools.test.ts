import { clientTool, createAgent, inputGuardrail, outputGuardrail } from '@millrace/agent';
import { toArray, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../../create-server.ts';
import { BrowserChat } from '../../testing/ai-sdk-client.ts';
import { eventually } from '../../testing/servers/task-harness.ts';

const askTown = clientTool({
  name: 'ask_town',
  description: 'Shows a form and returns the town of the user',
  input: z.object({ country: z.string() }),
  output: z.object({ town: z.string() }),
});
const asks = {
  content: { parts: ['Where?', toolCallPart(toolCallId('c1'), 'ask_town', { country: 'NO' })] },
};

type Options = Partial<Parameters<typeof createAgent>[0]>;

async function serve(options: Options, script: Parameters<typeof scriptedProvider>[0]) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log, ...options });
  const served = [{ type: 'loop', name: 'helper', agent }] as const;
  const server = createServer({
    tokens: 'none',
    log,
    agents: served,
    limits: { closeTimeoutMs: 200 },
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const taskOf = async (name: string) => {
    const task = (await (await fetch(`${url}/tasks/name/${name}`)).json()) as { id: string };
    return task.id;
  };
  return { url, log, agent, taskOf };
}

const toolIn = ({ lastMessage }: BrowserChat, name = 'ask_town') =>
  lastMessage?.parts.find((part) => part.type === `tool-${name}`);

describe.each(['wait', 'park'] as const)(
  'a tool of the page with whileAsking: %s',
  (whileAsking) => {
    test('is run by onToolCall once, and addToolOutput continues the message', async () => {
      const { url } = await serve({ tools: [askTown], whileAsking }, [asks, 'Hello, Oslo.']);
      const ran: string[] = [];
      const chat = new BrowserChat({
        ...{ url, agent: 'helper', id: 'talk' },
        init: {
          sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
          onToolCall: ({ toolCall }) => {
            ran.push(toolCall.toolCallId);
          },
        },
      });
      await chat.sendMessage({ text: 'Hi' });
      expect([chat.status, toolIn(chat)]).toMatchObject(['ready', { state: 'input-available' }]);
      const output = { town: 'Oslo' };
      await chat.addToolOutput({ tool: 'ask_town', toolCallId: 'c1', output } as never);
      await chat.waitUntil(({ text }) => text.includes('Hello, Oslo.'));
      expect([chat.error, ran]).toEqual([undefined, ['c1']]);
      expect(toolIn(chat)).toMatchObject({
        state: 'output-available',
        output,
        input: { country: 'NO' },
      });
      expect(chat.lastMessage?.parts.map(({ type }) => type)).toEqual([
        ...['step-start', 'text', 'tool-ask_town', 'step-start', 'text'],
      ]);
    });

    test('an output that does not fit is refused, and nothing is lost', async () => {
      const { url, log, agent, taskOf } = await serve({ tools: [askTown], whileAsking }, [
        asks,
        'Hello.',
      ]);
      const chat = new BrowserChat({ url, agent: 'helper', id: 'talk' });
      await chat.sendMessage({ text: 'Hi' });
      const id = await taskOf('talk');
      const send = async (toolCall: string, result: object) => {
        const body = JSON.stringify({ type: 'tool_output', tool_call_id: toolCall, ...result });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(`${url}/tasks/${id}/commands`, {
          method: 'POST',
          headers,
          body,
        });
        return response.status;
      };
      expect(await send('c1', { output: { town: 7 } })).toBe(422);
      expect(await send('c1', {})).toBe(422);
      expect(await send('c9', { output: 1 })).toBe(400);
      expect(await agent.pendingToolCalls(id)).toMatchObject([{ toolCallId: 'c1' }]);
      const closed = { error: 'The user closed the form' };
      expect([await send('c1', closed), await send('c1', closed)]).toEqual([202, 202]);
      expect(await send('c1', { output: { town: 'X' } })).toBe(409);
      await eventually(async () => (await snapshot(log, id)).run === undefined);
      const { items } = await snapshot(log, id);
      expect(JSON.stringify(toArray(items))).toContain('Hello.');
    });

    test.each([['input'], ['output']])('a guardrail on the %s asks in the chat', async (on) => {
      const check = () => ({ verdict: 'ask', reason: 'It is odd' }) as const;
      const define = on === 'input' ? inputGuardrail : outputGuardrail;
      const guardrails = [define({ name: 'careful', check })];
      const { url } = await serve({ guardrails, whileAsking }, ['Fine.']);
      const chat = new BrowserChat({ url, agent: 'helper', id: 'talk' });
      await chat.sendMessage({ text: 'Hi' });
      const part = toolIn(chat, 'careful') as { readonly toolCallId: string } | undefined;
      const shown = { text: on === 'input' ? 'Hi' : 'Fine.' };
      expect([chat.status, part]).toMatchObject([
        'ready',
        { state: 'approval-requested', input: shown },
      ]);
      await chat.addToolApprovalResponse({ id: part?.toolCallId ?? '', approved: true });
      await chat.waitUntil(({ text, status }) => text.includes('Fine.') && status === 'ready');
      expect([chat.error, toolIn(chat, 'careful')]).toEqual([undefined, undefined]);
    });
  },
);
