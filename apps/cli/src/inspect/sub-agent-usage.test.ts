import { createAgent, subAgent } from '@millrace/agent';
import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog, readRecords } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { emptyChat, foldChat } from '../chat/state/fold-chat.ts';
import { childUsage, ownUsage, sessionUsage } from '../chat/state/usage-stats.ts';
import { reportLines, sessionTotals } from './session-report.ts';
import { turnReports } from './turn-reports.ts';

test('20.6: the report and the status of a session count its sub-agents, with their shares', async () => {
  const log = memoryLog();
  const session = sessionId('s');
  const spent = { input: 900, output: 100, costs: [{ amount: '0.25', currency: 'USD' }] };
  const helper = createAgent({
    provider: scriptedProvider([{ content: { parts: ['I looked.'] }, usage: spent }]),
    ...{ name: 'explore', log },
  });
  const task = toolCallPart(toolCallId('t'), 'help', { task: 'Look' });
  const usage = { input: 40, output: 10 };
  const agent = createAgent({
    provider: scriptedProvider([
      { content: { parts: [task] }, usage },
      { content: { parts: ['Done.'] }, usage },
    ]),
    tools: [subAgent({ name: 'help', description: 'Helps', agent: helper })],
    log,
  });
  const run = agent.run('Go', { session });
  let chat = emptyChat(session);
  for await (const event of run.events) chat = foldChat(chat, event).state;

  const turns = await turnReports(readRecords(log, session));
  const totals = sessionTotals(turns);
  expect(totals.usage).toMatchObject({ input: 980, output: 120, costs: spent.costs });
  expect(totals.children).toMatchObject([{ agent: 'explore', requests: 1, usage: spent }]);
  expect(reportLines(turns, totals).join('\n')).toMatch(/Sub-agents\s+agent .*\s+explore +1 +900 /);

  expect(sessionUsage(chat.stats)).toMatchObject({ input: 980, output: 120 });
  expect(ownUsage(chat.stats)).toMatchObject({ input: 80, output: 20 });
  expect(childUsage(chat.stats)).toMatchObject([{ agent: 'explore', usage: spent }]);
});
