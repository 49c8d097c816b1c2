import { createAgent, subAgent } from '@millrace/agent';
import { type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { userItem } from '../store/user-item.ts';
import { call } from './print-stage.ts';

export interface SpokenOptions {
  readonly cwd?: string;
  readonly answer?: string;
}

/** A session in which something was said and answered. */
export async function spoken(
  log: Log,
  name: string,
  words: string,
  { cwd, answer = 'It turns.' }: SpokenOptions = {},
): Promise<SessionId> {
  const agent = createAgent({ provider: scriptedProvider([answer]), log });
  const input = cwd === undefined ? words : userItem([words], { cwd });
  const { session } = await agent.run(input, { session: sessionId(name) }).result;
  return session;
}

/** A session whose work a sub-agent did, and the sub-agent's. */
export async function withSubAgent(
  log: Log,
  name: string,
  cwd: string,
): Promise<{ readonly session: SessionId; readonly child: SessionId }> {
  const scout = createAgent({ provider: scriptedProvider(['It does.']), log, name: 'scout' });
  const tool = subAgent({ name: 'scout', description: 'Looks', agent: scout });
  const asks = { content: { parts: [call('c1', 'scout', { task: 'Does it turn?' })] } };
  const agent = createAgent({ provider: scriptedProvider([asks, 'Yes.']), log, tools: [tool] });
  const { session } = await agent.run(userItem(['Ask'], { cwd }), { session: sessionId(name) })
    .result;
  const { records } = await log.read(session);
  const [child] = records.flatMap(({ fact }) =>
    fact?.type === 'tool_execution_started' ? (fact.child ?? []) : [],
  );
  if (child === undefined) throw new Error('The sub-agent was not asked');
  return { session, child };
}
