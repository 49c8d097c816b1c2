import { type Log, readRecords } from '@millrace/log';
import { isReservedToolName } from '@millrace/tools';
import { commandHint, type PlaceFlags } from '../args/command-hint.ts';
import type { BuiltAgent } from '../contract/agent.ts';
import { UsageError } from '../contract/errors.ts';
import { type SessionSummary, shortRandomId } from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';

/** The agent of the terminal, and the flags of the command. */
interface OwnAgent extends Partial<Pick<BuiltAgent, 'tools' | 'mode'>> {
  readonly flags: PlaceFlags;
}

/**
 * Throws if another program recorded the session. The terminal's agent has other instructions and tools than the
 * agent of that program, and its tools read and change files of the folder. The log does not name the agent, so the
 * folder, the id and the tools of the session decide.
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

function signOfOtherProgram(
  { id, cwd }: SessionSummary,
  { store }: PlaceFlags,
): string | undefined {
  if (cwd === undefined) return 'its first message names no folder';
  // The terminal gives its sessions random ids. Its default store can have sessions of its server with other ids.
  const isNamed = store !== undefined && shortRandomId(id) === id;
  return isNamed ? 'the terminal does not give such ids' : undefined;
}

/** Finds a tool that ran in the session and that the terminal's agent does not have. */
async function signOfOtherTools(
  log: Log,
  { id }: SessionSummary,
  { tools, mode }: OwnAgent,
): Promise<string | undefined> {
  // An agent that only reads lacks many of the tools with which the terminal recorded the session.
  if (tools === undefined || mode?.() === 'read-only') return undefined;
  const names = new Set(tools.map(({ name }) => name));
  for await (const { fact } of readRecords(log, id)) {
    if (fact?.type !== 'tool_execution_started') continue;
    if (names.has(fact.name) || isReservedToolName(fact.name)) continue;
    return `it ran the tool ${oneLine(fact.name, 60)}, which no tool, MCP server or extension of the terminal has`;
  }
  return undefined;
}
