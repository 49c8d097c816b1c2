import { spawn } from 'node:child_process';
import { agUiAgent } from '@millrace/agent/remote';
import { type JsonObject, sessionId, toArray } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../../core/src/testing/runs.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { isPythonMissing, pythonIn, pythonScript } from '../../testing/python-programs.ts';

// Agents of other projects, in a process of their own. Their model is our own OpenAI-compatible endpoint.

const session = sessionId('s1');
const endless = { content: { parts: ['One two three'] }, pauseMs: 10_000_000 };

/** Starts the server of scripts/python-clients/agents.py, and returns one of its agents as an agent of ours. */
async function openAgent(name: string) {
  const requests: string[] = [];
  const answer: ScriptEntry = ({ items }) => {
    requests.push(items.map(({ kind }) => kind).join());
    const last = items.at(-1);
    const text = last?.parts.map((part) => ('text' in part ? part.text : '')).join('') ?? '';
    if (last?.kind === 'tool') return `Result: ${text}`;
    if (text === 'weather') return ['I look. ', toolCall('weather', { town: 'Bath' })];
    if (text === 'refund') return toolCall('refund', { order: 7 });
    return text === 'wait' ? endless : 'Hello there.';
  };
  const model = await serveOpenAi(Array.from({ length: 30 }, () => answer));
  const child = spawn(pythonIn('agents'), [pythonScript('agents.py')], {
    env: { ...childEnv(), OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'none' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const port = () => /port (\d+)/.exec(said)?.[1];
  await expect.poll(port).toBeDefined();
  const log = memoryLog();
  const agent = agUiAgent({ url: `http://127.0.0.1:${port()}/${name}`, log });
  const questions = async () => (await snapshot(log, session)).asked;
  return {
    ...{ agent, requests },
    say: async (text: string) => (await agent.run(text, { session }).result).text,
    /** Asks for a refund, and gives an answer. */
    refund: async (input: JsonObject | undefined) => {
      const run = agent.run('refund', { session });
      await expect.poll(async () => (await questions()).length).toBe(1);
      const [{ toolCallId } = expect.fail()] = await questions();
      if (input === undefined) await agent.deny(session, toolCallId);
      else await agent.approve(session, toolCallId, { input });
      return (await run.result).text;
    },
    shown: async () =>
      toArray((await snapshot(log, session)).items).flatMap(({ parts }) =>
        parts.flatMap(({ part }) => {
          if (part?.kind === 'tool_call') return [`${part.name} ${part.arguments}`];
          return part !== undefined && 'text' in part ? [part.text] : [];
        }),
      ),
  };
}

test.skipIf(isPythonMissing('agents')).each([
  ['pydantic', { approved: true }, 'Cancelled by user.'],
  ['langgraph', { answer: 'yes' }, 'not refunded'],
])('24.8: an agent of %s works in our session', async (name, approval, denied) => {
  const { agent, requests, say, refund, shown } = await openAgent(name);
  expect(await say('Hi')).toBe('Hello there.');
  expect(await say('weather')).toBe('Result: sun in Bath');
  expect(await refund(approval)).toBe('Result: refunded 7');
  expect(await refund(undefined)).toBe(`Result: ${denied}`);
  const stopped = agent.run('wait', { session });
  for await (const event of stopped.events) if (event.type === 'assistant_text_delta') break;
  stopped.abort();
  expect((await stopped.result).reason).toBe('aborted');
  expect(await say('Hi')).toBe('Hello there.');
  const all = await shown();
  const refunds = ['refund', 'refund {"order":7}'];
  expect(all.slice(0, -4)).toEqual([
    ...['Hi', 'Hello there.'],
    ...['weather', 'I look. ', 'weather {"town":"Bath"}', 'sun in Bath', 'Result: sun in Bath'],
    ...[...refunds, 'refunded 7', 'Result: refunded 7'],
    ...[...refunds, denied, `Result: ${denied}`],
  ]);
  expect(all.slice(-2)).toEqual(['Hi', 'Hello there.']);
  // Each agent gets the history once.
  const turn = 'user,assistant,tool,assistant';
  expect(requests).toContain(`user,assistant,${turn},${turn},${turn},user`);
});
