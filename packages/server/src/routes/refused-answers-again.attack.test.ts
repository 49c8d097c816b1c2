import { createAgent, outputGuardrail } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { testToken } from '../testing/servers/test-server.ts';

// An output guardrail stops or changes an answer, or a person refuses it. A later request wants the answer back.

const operator = testToken('operator');
const verdicts = ['stop', 'change', 'ask'] as const;

function guardrail(verdict: (typeof verdicts)[number]) {
  return outputGuardrail({
    name: 'no-zebra',
    check: ({ text }) => {
      if (!text.includes('zebra')) return 'pass';
      return verdict === 'change'
        ? { verdict, to: 'A horse is here.' }
        : { verdict, reason: 'no zebra' };
    },
  });
}

async function serve(verdict: (typeof verdicts)[number]) {
  const log = memoryLog();
  const provider = scriptedProvider(Array(9).fill('A zebra is here.'), { pieces: 'token' });
  const agent = createAgent({
    ...{ log, provider, whileAsking: 'park', guardrails: [guardrail(verdict)] },
  });
  const agents = [{ type: 'loop', name: 'helper', description: 'Helps', agent }] as const;
  const server = createServer({ tokens: [operator], log, agents });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const send = async (path: string, body: object, more: object = {}) => {
    const headers = {
      ...{ authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', ...more },
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(new URL(path, url), init)).text();
  };
  /** Waits until the only session is idle, and refuses the answer if the guardrail asks about it. */
  const settle = async (): Promise<string> => {
    await expect.poll(async () => (await log.list()).length).toBe(1);
    const [{ session } = { session: '' }] = await log.list();
    const facts = async () => (await log.read(session)).records.map(({ fact }) => fact);
    await expect.poll(async () => (await facts()).at(-1)?.type).toBe('run_finished');
    if (verdict !== 'ask') return session;
    const asked = (await facts()).find((fact) => fact?.type === 'approval_asked');
    const tool_call_id = asked?.type === 'approval_asked' ? asked.toolCallId : '';
    await send(`/tasks/${session}/commands`, { type: 'deny', tool_call_id });
    const isRefused = async () => (await facts()).some((one) => one?.type === 'attempt_superseded');
    await expect.poll(isRefused).toBe(true);
    return session;
  };
  return { send, settle };
}

test.for(verdicts)(
  '18.1733: attack: a call over MCP reports a refused answer as progress (%s)',
  async (verdict) => {
    const { send, settle } = await serve(verdict);
    await send('/v1/responses', { model: 'helper', input: 'Hi', background: true });
    const session_id = await settle();
    const params = { name: 'helper', arguments: { session_id }, _meta: { progressToken: 1 } };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const told = await send('/mcp', call, { 'mcp-protocol-version': '2025-11-25' });
    expect(told).toContain('"id":1');
    expect(told).not.toContain('zebra is');
  },
);

test.for(verdicts)(
  '18.1733: attack: a known message of useChat brings a refused answer back (%s)',
  async (verdict) => {
    const { send, settle } = await serve(verdict);
    const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
    const chat = () => send('/agents/name/helper/chat', { id: 'c1', messages });
    expect(await chat()).toContain('zebra');
    await settle();
    const again = await chat();
    expect(again).toContain('[DONE]');
    expect(again).not.toContain('zebra');
    if (verdict === 'change') expect(again.replace(/[^a-z]/g, '')).toContain('horse');
  },
);

test.for(verdicts)(
  '18.1733: attack: a repeated message/send streams a refused answer (%s)',
  async (verdict) => {
    const { send, settle } = await serve(verdict);
    const content = { type: 'text', author: 'user', content: 'Hi' };
    const ask = (stream: boolean) => {
      const params = { content, stream };
      const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params };
      return send('/agents/name/helper/rpc', body, { 'idempotency-key': 'k' });
    };
    const first = ask(false);
    await settle();
    await first;
    const again = await ask(true);
    expect(again).not.toContain('zebra');
    // A refused answer has no messages, so there is nothing to stream.
    if (verdict === 'change') expect(again).toContain('horse');
    else expect(again).toBe('');
  },
);
