import type { ToolContext } from '@millrace/agent';
import { AgentError } from '@millrace/agent';
import { type FormQuestion, sessionId } from '@millrace/core';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { call, McpConnections, stdioServer } from '../testing/mcp-connections.ts';
import { IdleLimit } from './server/elicitation.ts';

const connections = new McpConnections();
const connected = connections.connect(stdioServer());
afterAll(() => connections.closeAll());

type Ask = NonNullable<ToolContext['ask']>;
const properties = { name: { type: 'string' } };
const asked = { method: 'elicitation/create', properties };
const schema = { type: 'object', properties };

describe('22.forms: a server that asks the user during a call', () => {
  test('gets the content of the form', async () => {
    const forms: FormQuestion[] = [];
    const ask: Ask = async (form) => {
      forms.push(form);
      return { action: 'accept', content: { name: 'Ada' } };
    };
    const { text } = await call(await connected, 'ask_back', asked, { ask });
    expect(JSON.parse(text)).toMatchObject({ action: 'accept', content: { name: 'Ada' } });
    // Each client shows who asks.
    expect(forms).toEqual([{ message: 'The MCP server test asks:\n\nSure?', schema }]);
  });

  test.each(['decline', 'cancel'] as const)('learns that the user said %s', async (action) => {
    const { text } = await call(await connected, 'ask_back', asked, {
      ask: async () => ({ action }),
    });
    expect(JSON.parse(text)).toMatchObject({ action });
  });

  test('gets a cancellation if nobody can be asked', async () => {
    const { text } = await call(await connected, 'ask_back', asked);
    expect(JSON.parse(text)).toMatchObject({ action: 'cancel' });
  });

  test('attack: gets an error for a form outside of the limits', async () => {
    const ask: Ask = async () => {
      throw new AgentError('bad_input', 'the form is too long');
    };
    const { text } = await call(await connected, 'ask_back', asked, { ask });
    expect(text).toContain('the form is too long');
  });

  test('attack: cannot ask a user while a call of another session runs', async () => {
    const server = await connected;
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const other = call(
      server,
      'wait',
      {},
      {
        ...{ session: sessionId('other'), signal: stop.signal, update: () => started.resolve() },
      },
    );
    await started.promise;
    let questions = 0;
    const ask: Ask = async () => {
      questions++;
      return { action: 'accept', content: {} };
    };
    const { text } = await call(server, 'ask_back', asked, { ask });
    expect([JSON.parse(text), questions]).toMatchObject([{ action: 'cancel' }, 0]);
    stop.abort();
    await other;
  });
});

test('22.forms: the time in which a user answers is not the time of the server', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const idle = new IdleLimit(1000);
  vi.advanceTimersByTime(900);
  idle.onAsking(true);
  vi.advanceTimersByTime(60_000);
  expect(idle.signal.aborted).toBe(false);
  idle.onAsking(false);
  vi.advanceTimersByTime(900);
  idle.restart();
  vi.advanceTimersByTime(900);
  expect(idle.signal.aborted).toBe(false);
  vi.advanceTimersByTime(100);
  expect(idle.signal.aborted).toBe(true);
});
