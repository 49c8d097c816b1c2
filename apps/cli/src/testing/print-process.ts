import process from 'node:process';
import { defineTool, type Observer } from '@millrace/agent';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import { abortOnSignals } from '../command/stop-signals.ts';
import { printRun } from '../print/print-run.ts';
import { openStore } from '../store/open-store.ts';
import { builtAgentWith, defaultPrintArgs, toolCall } from './run-print.ts';

// Runs a scripted print in a separate process, as the command does. Arguments: <store> <script
// name> <print arguments as JSON> <event number>. At this event, the process sends SIGINT to
// itself. 0 means never.
const [path = '', scriptName = '', args = '{}', at = '0'] = process.argv.slice(2);

const none = z.object({});
const tools = [
  defineTool({
    ...{ name: 'look', description: 'Looks', input: none },
    execute: async (_input, { update }) => {
      update('looking');
      return 'It turns.';
    },
  }),
  defineTool({
    ...{ name: 'stay', description: 'Does not stop', input: none },
    execute: () => new Promise<string>(() => {}),
  }),
];

const lines = Array.from({ length: 500 }, (_, line) => `Line ${line + 1} of the answer.`);
const scripts: Readonly<Record<string, readonly ScriptEntry[]>> = {
  tool: [{ content: { parts: ['I look.', toolCall('c1', 'look', {})] } }, 'It turns.'],
  /** Streams a long answer and never ends. */
  long: [
    {
      content: { parts: [lines.join('\n')] },
      fault: { type: 'stall', after: 3000 },
      pieces: 'token',
    },
  ],
  stuck: [{ content: { parts: ['I stay.', toolCall('c1', 'stay', {})] } }],
};

let eventsLeft = Number(at);
const observer: Observer = ({ fact }, events) => {
  for (const _ of events) if (--eventsLeft === 0) process.kill(process.pid, 'SIGINT');
  if (fact?.type === 'aborted') process.stderr.write('(aborted)\n');
};

const signal = abortOnSignals(process);
const { log, close } = await openStore({ config: { store: path }, env: {} });
const provider = scriptedProvider(scripts[scriptName] ?? [], { pieces: 'token', pauseMs: 1 });
const retry = { toolGraceMs: 1_000_000_000 };
const { stdin, stdout, stderr } = process;
const printing = printRun({
  built: builtAgentWith({ provider, log, tools, retry, observers: [observer] }),
  args: { ...defaultPrintArgs, ...JSON.parse(args) },
  chosen: { why: 'A test says so.', isDemo: false },
  ...{ log, stdin, stdout, stderr, signal, env: {}, cwd: '/folder' },
});
if (scriptName === 'piped') stderr.write('(begun)\n');
process.exitCode = await printing;
await close();
