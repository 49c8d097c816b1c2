import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { isReservedToolName } from '@millrace/tools';
import { commandHint, type PlaceFlags } from '../args/command-hint.ts';
import type { BuiltAgent } from '../contract/agent.ts';
import { UsageError } from '../contract/errors.ts';
import { oneLine } from '../text/cells/printable.ts';
import { findSession, type SessionSummary, shortRandomId } from './session-summaries.ts';

/** The agent of the terminal, and the flags of the command. */
interface OwnAgent {
  readonly flags: PlaceFlags;
  readonly built: Partial<Pick<BuiltAgent, 'tools' | 'mode' | 'servers'>>;
}

/**
 * Throws if another program recorded the session of `millrace branch`. The terminal's agent has other instructions
 * and tools than the agent of that program, and its tools read and change files of the folder. The log does not name
 * the agent, so the folder, the id and the tools of the session decide.
 */
export async function assertOwnSession(
  log: Log,
  session: SessionSummary,
  own: OwnAgent,
): Promise<void> {
  const why = signOfOtherProgram(session, own.flags) ?? (await signOfOtherTools(log, session, own));
  if (why === undefined) return;
  const { id } = session;
  const way = commandHint(own.flags, 'branch --at <record> --agents agents.ts', id);
  const message = `Cannot branch session ${id} with the coding agent of the terminal: another agent recorded it, because ${why}. Name the module that exports the agent of the session: ${way}`;
  throw new UsageError(message, { flag: 'agents' });
}

/**
 * Returns the error for a session that the terminal's agent must not continue, because another program recorded it.
 * The same signs as for a branch decide, with two exceptions. The sessions of a server have no folder. A session in
 * which a tool of the terminal ran can also contain calls of extensions and MCP servers that the user has removed
 * since.
 */
export async function refusalToResume(
  log: Log,
  id: SessionId,
  own: OwnAgent,
): Promise<UsageError | undefined> {
  if ((await log.info(id)) === undefined) return undefined;
  const session = await findSession(log, id, { cwd: '' });
  // `/undo` of the first message continues in a copy without messages.
  if (session.forkOf !== undefined && session.title === '') return undefined;
  const sign = isServerStore(own.flags) ? undefined : signOfOtherProgram(session, own.flags);
  const why = sign ?? (await signOfOnlyOtherTools(log, session, own));
  if (why === undefined) return undefined;
  const branch = `branch --at ${session.through} --text "And now?" --agents agents.ts`;
  const ways = [
    `read it with ${commandHint(own.flags, 'sessions show', id)}`,
    'continue it with the program that recorded it',
    `or continue a copy with the module that exports its agent: ${commandHint(own.flags, branch, id)}`,
  ];
  const message = `Cannot continue session ${id} with the coding agent of the terminal: another agent recorded it, because ${why}. Instead, ${ways.join(', ')}`;
  return new UsageError(message, { flag: 'resume' });
}

function signOfOtherProgram(
  { id, cwd }: SessionSummary,
  { store }: PlaceFlags,
): string | undefined {
  if (cwd === undefined) return 'its first message names no folder';
  // The terminal gives its sessions random ids. Its default store can have sessions of its server with other ids.
  const isNamed = store !== undefined && shortRandomId(id) === id;
  return isNamed ? 'the terminal does not give such ids' : undefined;
}

/** True if the store belongs to a server, whose page starts sessions with the terminal's agent. */
function isServerStore({ store }: PlaceFlags): boolean {
  return store !== undefined && existsSync(join(dirname(store), 'tasks.db'));
}

/** Finds a tool that ran in the session and that the terminal's agent does not have. */
async function signOfOtherTools(
  log: Log,
  { id }: SessionSummary,
  own: OwnAgent,
): Promise<string | undefined> {
  const isOwn = ownToolNames(own.built);
  if (isOwn === undefined) return undefined;
  for await (const { fact } of readRecords(log, id))
    if (fact?.type === 'tool_execution_started' && !isOwn(fact.name)) return otherTool(fact.name);
  return undefined;
}

/** Maximum number of records that a resumed session is searched for tools. */
const maxSearched = 20_000;

/** Finds a tool like `signOfOtherTools`. Returns undefined if a tool of the terminal ran too. */
async function signOfOnlyOtherTools(
  log: Log,
  { id }: SessionSummary,
  { built }: OwnAgent,
): Promise<string | undefined> {
  if (ownToolNames(built) === undefined) return undefined;
  const others = new Set<string>();
  let searched = 0;
  for await (const { fact } of readRecords(log, id)) {
    if (++searched > maxSearched) break;
    if (fact?.type !== 'tool_execution_started') continue;
    if (isReservedToolName(fact.name)) return undefined;
    others.add(fact.name);
  }
  if (others.size === 0) return undefined;
  // In the chat, the servers connect in the background. Their tools belong to the terminal too.
  await built.servers?.ready;
  const isOwn = ownToolNames(built) ?? (() => true);
  const [name] = others;
  return name === undefined || [...others].some(isOwn) ? undefined : otherTool(name);
}

/**
 * Returns the check for the names of the terminal's tools. An agent that only reads lacks many of the tools with which
 * the terminal recorded the session, so it has no check.
 */
function ownToolNames({ tools, mode }: OwnAgent['built']): ((name: string) => boolean) | undefined {
  if (tools === undefined || mode?.() === 'read-only') return undefined;
  const names = new Set(tools.map(({ name }) => name));
  return (name) => names.has(name) || isReservedToolName(name);
}

function otherTool(name: string): string {
  return `it ran the tool ${oneLine(name, 60)}, which no tool, MCP server or extension of the terminal has`;
}
