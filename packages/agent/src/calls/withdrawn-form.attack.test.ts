import { sessionId } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { FormAnswer } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { subAgent } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const formOf = (message: string) => ({ message, schema: { type: 'object', properties: {} } });

/** A tool withdraws its first form, and shows a second one. */
function withdrawing(log: Log) {
  const withdrawal = new AbortController();
  const answers: (FormAnswer | 'withdrawn' | undefined)[] = [];
  const tool = defineTool({
    ...{ name: 'sign_up', description: 'Signs somebody up', input: z.object({}) },
    execute: async (_input, { ask }) => {
      answers.push(await ask?.(formOf('First?'), withdrawal.signal).catch(() => 'withdrawn'));
      answers.push(await ask?.(formOf('Second?')));
      return 'done';
    },
  });
  const provider = scriptedProvider([{ content: { parts: [call('c1', 'sign_up', {})] } }, 'Bye.']);
  const agent = createAgent({ name: 'desk', provider, log, tools: [tool] });
  return { agent, answers, withdrawal };
}

test.each(['in a session', 'in a sub-agent'])(
  '18.1016: attack: a form that its tool has withdrawn stays open: %s',
  async (place) => {
    const log = memoryLog();
    const { agent, answers, withdrawal } = withdrawing(log);
    const task = call('t1', 'help', { task: 'Sign them up' });
    const lead = createAgent({
      ...{ name: 'lead', log, tools: [subAgent({ name: 'help', description: 'Helps', agent })] },
      provider: scriptedProvider([{ content: { parts: [task] } }, 'Bye.']),
    });
    const started: Agent = place === 'in a session' ? agent : lead;
    const run = started.run('Sign me up', { session });
    const shown: string[][] = [];
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      const { asked } = await snapshot(log, session);
      shown.push(asked.map(({ from }) => from?.form?.message ?? ''));
      if (shown.length === 1) withdrawal.abort();
      else await run.approve(event.toolCallId, { input: {} });
    }
    expect((await run.result).text).toBe('Bye.');
    expect(shown).toEqual([['First?'], ['Second?']]);
    expect(answers).toEqual(['withdrawn', { action: 'accept', content: {} }]);
    const typesOf = (records: Awaited<ReturnType<Log['read']>>['records']) =>
      records.map(({ fact, delta }) => fact?.type ?? delta?.type);
    const replayed = await started.replay(session);
    expect(typesOf(replayed.records)).toEqual(typesOf((await log.read(session, {})).records));
  },
);
