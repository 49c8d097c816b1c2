import { appendFileSync } from 'node:fs';
import { sessionId, type ToolCallPart } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import type { Observer } from '../../contract/observer.ts';
import { createAgent } from '../../create-agent.ts';
import { subAgent } from '../../tool/agent-tools.ts';
import { defineTool } from '../../tool/define-tool.ts';
import { call } from '../model-script.ts';

// Runs or resumes an agent with two levels of sub-agents on a log file. The innermost agent asks before
// it pays, and the program approves. The program kills itself at the n-th record of all sessions. It can
// also kill itself at the first fact of a type in the session of an agent, such as `approval_asked boss`.
// Usage: run-until-killed.ts <log> <lines> <count | fact agent | nothing>.
const [path = '', lines = '', moment = ''] = process.argv.slice(2);
const session = sessionId('top');
let left = Number(moment);

const log = sqliteLog({ path });
const calling = (part: ToolCallPart): ScriptEntry => ({ content: { parts: ['I call.', part] } });

/**
 * Returns a provider whose answer depends only on the conversation, so that a new process can continue
 * it.
 */
function saying(part: ToolCallPart, then: string) {
  const first = scriptedProvider([calling(part), calling(part), calling(part)]);
  const second = scriptedProvider([then, then, then]);
  return {
    ...first,
    stream: (...args: Parameters<typeof first.stream>) => {
      const hasResult = args[0].items.some(({ kind }) => kind === 'tool');
      return (hasResult ? second : first).stream(...args);
    },
  };
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ amount: z.number() }),
  execute: async ({ amount }) => {
    appendFileSync(lines, `${amount}\n`);
    return `Paid ${amount}.`;
  },
});
const observe: Observer = ({ fact }, _events, running) => {
  const isNamed = fact !== undefined && moment === `${fact.type} ${running?.agent}`;
  if (--left === 0 || isNamed) process.kill(process.pid, 'SIGKILL');
};
const observers = [observe];
const helping = (agent: ReturnType<typeof createAgent>) =>
  subAgent({ name: 'help', description: 'Helps', agent });
const task = (id: string) => call(id, 'help', { task: 'Pay 5' });
const common = { log, observers } as const;
const cashier = createAgent({
  ...{ ...common, name: 'cashier', tools: [pay], approve: () => 'ask' },
  provider: saying(call('p', 'pay', { amount: 5 }), 'I paid.'),
});
const lead = createAgent({
  ...{ ...common, name: 'lead', tools: [helping(cashier)], provider: saying(task('t2'), 'Paid.') },
});
const boss = createAgent({
  ...{ ...common, name: 'boss', tools: [helping(lead)], provider: saying(task('t1'), 'Done.') },
  onInterrupted: 'retry',
});

const isNew = (await log.info(session)) === undefined;
const run = isNew ? boss.run('Pay 5.', { session }) : boss.resume(session);
// A resumed session may have a question from another process. The events of this run do not include that
// question.
const answer = async () => {
  if (isNew)
    for await (const event of run.events)
      if (event.type === 'approval_asked') await run.approve(event.toolCallId);
  for await (const { records } of log.follow(session))
    for (const { fact } of records)
      if (fact?.type === 'approval_asked') await run.approve(fact.toolCallId);
};
const answering = answer().catch(() => undefined);
const { stop, text, usage } = await run.result;
console.log(JSON.stringify({ stop, text, tokens: usage.input + usage.output }));
await Promise.race([answering, log.close()]);
process.exit(0);
