import { Readable } from 'node:stream';
import { type AgentOptions, createAgent } from '@millrace/agent';
import { type AgentEvent, decodeEvent, type SessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import {
  type ScriptEntry,
  type ScriptedProvider,
  scriptedProvider,
} from '@millrace/providers/scripted';
import type { AgentChanges, BuiltAgent } from '../contract/agent.ts';
import type { PrintArgs } from '../contract/args.ts';
import { type PrintRunOptions, printRun } from '../print/print-run.ts';
import { CapturedOutput } from './output-streams.ts';

export const defaultPrintArgs: PrintArgs = {
  command: 'print',
  ...{ prompt: 'The weather?', json: false, session: 'new', color: true, rules: [], trust: false },
};

export const cwd = '/folder';

/** Returns a tool call part as a model would send it. */
export function toolCall(id: string, name: string, input: object) {
  const given = JSON.stringify(input);
  return { kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: given } as const;
}

/** Builds the parts of an agent that a print run needs. */
export function builtAgentWith(
  options: AgentOptions,
): Pick<BuiltAgent, 'agent' | 'with' | 'problems'> {
  const agent = createAgent({ whileAsking: 'park', retry: { baseDelayMs: 1 }, ...options });
  const changed = ({ output }: AgentChanges) =>
    builtAgentWith({ ...options, output }) as BuiltAgent;
  return { agent, problems: [], with: changed };
}

export interface PrintResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly log: Log;
  readonly provider: ScriptedProvider;
  /** The session of the last run. */
  readonly session: SessionId;
}

export interface RunPrintOptions extends Partial<Omit<PrintRunOptions, 'args'>> {
  readonly script: readonly ScriptEntry[];
  readonly args?: Partial<PrintRunOptions['args']>;
  /** The piped input. Default: empty. Standard input is never a terminal. */
  readonly piped?: string | Uint8Array;
  readonly agent?: Partial<AgentOptions>;
}

/** Runs one print command with captured streams. */
export async function runPrint(stage: RunPrintOptions): Promise<PrintResult> {
  const { script, args, piped = '', agent, log = memoryLog(), ...rest } = stage;
  const provider = scriptedProvider(script);
  const stdout = new CapturedOutput();
  const stderr = new CapturedOutput();
  const options: PrintRunOptions = {
    ...{ log, stdout, stderr, cwd, env: {} },
    built: builtAgentWith({ provider, log, ...agent }),
    chosen: { why: 'A test says so.', isDemo: false },
    stdin: Readable.from([Buffer.from(piped)]),
    ...rest,
    args: { ...defaultPrintArgs, ...args },
  };
  const code = await printRun(options);
  const sessions = [...(await log.list())].sort((a, b) => a.changedAt - b.changedAt);
  const session = sessions.at(-1)?.session as SessionId;
  const textOf = (stream: unknown) => (stream instanceof CapturedOutput ? stream.text : '');
  const said = { stdout: textOf(options.stdout), stderr: textOf(options.stderr) };
  return { code, ...said, log, provider, session };
}

export function eventsIn(jsonl: string): readonly AgentEvent[] {
  return jsonl
    .split('\n')
    .slice(0, -1)
    .map((line) => decodeEvent(line));
}
