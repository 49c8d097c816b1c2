import { appendFileSync } from 'node:fs';
import { type LogRecord, toolCallId } from '@millrace/core';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { z } from 'zod';
import type { Run } from '../contract/run.ts';
import type { Tool } from '../contract/tool.ts';
import type { AgentOptions } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import { call } from './model-script.ts';

/** One typical run, from its input to its end. */
export interface Scenario {
  readonly script: readonly ScriptEntry[];
  readonly options?: Partial<AgentOptions>;
  /** The type of a record. `act` is called once, after the first record of this type. */
  readonly at?: string;
  readonly act?: (run: Run) => Promise<void>;
}

const answer = (...parts: readonly (string | ReturnType<typeof call>)[]): ScriptEntry => ({
  content: { parts },
});
const write = (id: string, line: string) => call(id, 'write', { line });
const overloaded = { type: 'error', after: 2, error: 'overloaded' } as const;

export const scenarios: Readonly<Record<string, Scenario>> = {
  text: { script: ['The wheel turns.'] },
  tool: { script: [answer('I write it down.', write('c1', 'one')), 'Done.'] },
  'parallel tools': {
    script: [answer(write('c1', 'one'), call('c2', 'look', {}), write('c3', 'three')), 'Done.'],
  },
  reasoning: {
    script: [{ content: { parts: [{ kind: 'reasoning', form: 'full', text: 'Hm.' }, 'Yes.'] } }],
  },
  'error and retry': {
    script: [{ content: { parts: ['Half an answer'] }, fault: overloaded }, 'A whole answer.'],
  },
  'abort in text': {
    script: ['This is said to nobody in particular.', 'Again.'],
    at: 'append_text',
    act: (run) => run.abort('enough'),
  },
  'abort in tool': {
    script: [answer(call('c1', 'hang', {})), 'Again.'],
    at: 'tool_execution_started',
    act: (run) => run.abort('enough'),
  },
  approval: {
    script: [answer(write('c1', 'one')), 'Done.'],
    options: { approve: () => 'ask' },
    at: 'approval_asked',
    act: (run) => run.approve(toolCallId('c1'), { by: 'ada' }),
  },
  compaction: {
    script: [
      { content: { parts: [write('c1', 'one')] }, usage: { input: 90, output: 10 } },
      'I was asked to begin.',
      'Done.',
    ],
    options: { compaction: { whenTokens: 100, keepSteps: 1, summarize: 'Summarise.' } },
  },
  steering: {
    script: [answer(write('c1', 'one')), 'I turn left.'],
    at: 'turn_started',
    act: (run) => run.steer('Turn left'),
  },
};

/**
 * Returns the tools of the scenarios. The `write` tool appends a line to a file, so that a test can count
 * its executions from outside.
 */
export function scenarioTools(file: string): readonly Tool[] {
  const none = z.object({});
  return [
    defineTool({
      ...{ name: 'write', description: 'Writes a line', input: z.object({ line: z.string() }) },
      execute: async ({ line }, { update }) => {
        appendFileSync(file, `${line}\n`);
        update(`writing ${line}`);
        return `wrote ${line}`;
      },
    }),
    defineTool({
      ...{
        name: 'look',
        description: 'Looks',
        effects: 'none' as const,
        afterCrash: 'repeat' as const,
      },
      input: none,
      execute: async () => 'seen',
    }),
    defineTool({
      ...{ name: 'hang', description: 'Never ends by itself', input: none },
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
    }),
  ];
}

/** Returns an observer that calls the scenario's `act` after the first record of its type. */
export function scenarioObserver(scenario: Scenario, run: () => Run): (record: LogRecord) => void {
  let isDone = false;
  return ({ fact, delta }) => {
    if (isDone || (fact ?? delta)?.type !== scenario.at) return;
    isDone = true;
    scenario.act?.(run()).catch(() => {});
  };
}
