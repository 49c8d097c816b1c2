import { type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import type { Agent } from '../create-agent.ts';
import type { Replayed } from '../replay/replay.ts';
import type { Tool } from '../tool/tool.ts';

/** What a cast is made of: things that work, or things of which none may be used. */
export interface Props {
  readonly log: Log;
  provider(script: readonly Scripted[], id?: string): Provider;
  tool(tool: Tool): Tool;
  /** What is asked beside: a policy, instructions. */
  hook<F extends (...given: never[]) => unknown>(hook: F): F;
}

/** Agents as they are played with, and what is done with them. */
export interface Piece {
  readonly cast: (props: Props) => Agent;
  readonly act: (agent: Agent, log: Log) => Promise<unknown>;
  /** The session that is replayed; `s` unless told. */
  readonly session?: SessionId | undefined;
}

export const session: SessionId = sessionId('s');

/** Plays a piece, and gives what was recorded. */
export async function performed({ cast, act, session: of = session }: Piece) {
  const log = memoryLog();
  const provider: Props['provider'] = (script, id) => scriptedProvider(script, { id });
  const agent = cast({ log, provider, tool: (tool) => tool, hook: (hook) => hook });
  await act(agent, log);
  const { records } = await log.read(of, { maxBytes: Number.POSITIVE_INFINITY });
  return { log, agent, records };
}

export interface Understudied extends Replayed {
  /** What observers were told. */
  readonly told: readonly LogRecord[];
}

/** Replays with agents of the same kind in which nothing works: whatever were asked would throw. */
export async function understudied(
  cast: Piece['cast'],
  log: Log,
  of: SessionId = session,
): Promise<Understudied> {
  const used: string[] = [];
  const fail = (what: string) => (): never => {
    used.push(what);
    throw new Error(`${what} was used`);
  };
  const provider: Props['provider'] = (_script, id = 'scripted') => {
    const stream = fail(`provider ${id}`);
    return { id, model: 'none', stream, complete: stream };
  };
  const tool = (one: Tool): Tool => ({ ...one, execute: fail(`tool ${one.name}`) });
  const agent = cast({ log, provider, tool, hook: () => fail('a hook') as never });
  const told: LogRecord[] = [];
  const replayed = await agent.replay(of, { observers: [(record) => void told.push(record)] });
  if (used.length > 0) throw new Error(`A replay used ${used.join(', ')}`);
  return { ...replayed, told };
}

/** Without what others wrote: after a driver was dead, nobody was told of it. */
export function byDrivers(records: readonly LogRecord[]): readonly LogRecord[] {
  return records.filter(({ producer }) => producer.startsWith('driver'));
}
