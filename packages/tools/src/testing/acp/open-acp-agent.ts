import { fileURLToPath } from 'node:url';
import { type SessionId, sessionId, toArray } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { expect, onTestFinished } from 'vitest';
import { childEnv } from '../../../../core/src/testing/runs.ts';
import { type AcpAgentOptions, acpAgent } from '../../acp/acp-agent.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const program = fileURLToPath(new URL('./agent-in-process.ts', import.meta.url));
/** The session of the tests. */
export const session: SessionId = sessionId('s1');

/** Runs the agent of the official SDK as a process, as an agent of ours. */
export function openAcpAgent(
  options: Partial<AcpAgentOptions> & { readonly canLoad?: boolean } = {},
) {
  const { canLoad = false, log = memoryLog(), cwd = temporaryFolder(), ...rest } = options;
  const agent = acpAgent({
    ...{ command: process.execPath, args: [program, canLoad ? 'load' : 'none'], cwd, log },
    ...{ env: childEnv() as Record<string, string>, ...rest },
  });
  onTestFinished(() => agent.close());
  const say = async (text: string) => (await agent.run(text, { session }).result).text;
  const questions = async () => (await snapshot(log, session)).asked;
  const next = async (count: number) => {
    await expect.poll(async () => (await questions()).length).toBe(count);
    return (await questions())[0] ?? expect.fail();
  };
  /** The parts of the session as short texts. */
  const shown = async (id: SessionId = session) =>
    toArray((await snapshot(log, id)).items).flatMap(({ parts }) =>
      parts.flatMap(({ part }) => {
        if (part === undefined || part.kind === 'custom') return [];
        if (part.kind === 'tool_call') return [`call ${part.name} ${part.arguments}`];
        return 'text' in part ? [`${part.kind} ${part.text}`] : [part.kind];
      }),
    );
  return { agent, cwd, log, say, next, shown };
}
