// Conformance tests of core, providers, log, agent and client, with a scripted model. The file is
// bundled and runs in each runtime, so it uses no Node modules.
import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { createClient } from '@millrace/client';
import {
  countingIds,
  decodeRecord,
  encodeRecord,
  type Item,
  type LogRecord,
  type Part,
  toolCallId,
  transcript,
} from '@millrace/core';
import { exportSession, importSession, memoryLog } from '@millrace/log';
import { logCases } from '@millrace/log/suite';
import { conformanceCases } from '@millrace/providers/conformance';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import {
  scriptedSubject,
  wireSubject,
} from '../../packages/providers/src/testing/conformance/subjects.ts';
import { wireTable } from '../../packages/providers/src/testing/wire-table.ts';

export interface RuntimeCase {
  readonly name: string;
  run(): Promise<unknown>;
}

export interface RuntimeReport {
  readonly passed: number;
  /** The name and the error of each failed case. */
  readonly failures: readonly string[];
}

/**
 * Returns all cases. The cases for the client need the URL of a server that has the agent
 * `weather`.
 */
export function runtimeCases(serverUrl: string): readonly RuntimeCase[] {
  const memory = {
    isDurable: false,
    create: async (clock: Parameters<Parameters<typeof logCases>[0]['create']>[0]) => ({
      open: async () => memoryLog({ clock }),
      remove: async () => {},
    }),
  };
  return [
    ...agentCases,
    ...named('client', clientCases(serverUrl)),
    ...named('scripted provider', conformanceCases(scriptedSubject)),
    ...wireTable.flatMap((under) => named(under.wire, conformanceCases(wireSubject(under)))),
    ...named('memory log', logCases(memory)),
  ];
}

/** Runs the cases one after the other. */
export async function runCases(cases: readonly RuntimeCase[]): Promise<RuntimeReport> {
  const failures: string[] = [];
  for (const { name, run } of cases) {
    try {
      await run();
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  return { passed: cases.length - failures.length, failures };
}

function named(prefix: string, cases: readonly RuntimeCase[]): readonly RuntimeCase[] {
  return cases.map(({ name, run }) => ({ name: `${prefix}: ${name}`, run }));
}

function expectEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`expected ${other}, but got ${one}`);
}

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => `It rains in ${city}.`,
});

const asks: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'weather' },
  arguments: '{"city":"Bath"}',
};

/** The script of a model that first calls the weather tool and then answers. */
export const weatherScript: readonly ScriptEntry[] = [
  { content: { parts: ['Let me look.', asks] } },
  'It rains.',
];

function textsOf(items: readonly Item[]): readonly string[] {
  return items.flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : [])),
  );
}

const agentCases: readonly RuntimeCase[] = named('agent', [
  {
    name: 'streams, runs a tool, and is replayed from its log',
    async run() {
      const log = memoryLog();
      const provider = scriptedProvider(weatherScript);
      const agent = createAgent({ provider, log, tools: [weather] });
      const run = agent.run('What is the weather in Bath?');
      const types = new Set<string>();
      for await (const { type } of run.events) types.add(type);
      const { text, session, stop } = await run.result;
      expectEqual([text, stop.reason], ['It rains.', 'stop']);
      expectEqual(types.has('tool_execution_finished'), true);
      const { divergence, records, state } = await agent.replay(session);
      expectEqual(divergence?.message, undefined);
      expectEqual(
        records.map((record) => decodeRecord(encodeRecord(record))),
        records,
      );
      expectEqual(textsOf(transcript(state)).includes('It rains.'), true);
      await log.close();
    },
  },
  {
    name: 'waits for an approval',
    async run() {
      const log = memoryLog();
      const provider = scriptedProvider(weatherScript);
      const agent = createAgent({ provider, log, tools: [weather], approve: () => 'ask' });
      const run = agent.run('What is the weather in Bath?');
      for await (const event of run.events)
        if (event.type === 'approval_asked') await run.approve(event.toolCallId);
      expectEqual((await run.result).text, 'It rains.');
      await log.close();
    },
  },
  {
    name: 'keeps the partial answer after an abort, and continues the session',
    async run() {
      const log = memoryLog();
      const stalls: ScriptEntry = {
        content: { parts: ['One moment please'] },
        fault: { type: 'stall', after: 2 },
      };
      const agent = createAgent({ log, provider: scriptedProvider([stalls, 'Hello again.']) });
      const run = agent.run('Hello');
      for await (const { type } of run.events)
        if (type === 'assistant_text_delta') run.abort('enough');
      const { stop, session } = await run.result;
      expectEqual(stop.reason, 'aborted');
      expectEqual((await agent.run('And now?', { session }).result).text, 'Hello again.');
      const lines: string[] = [];
      for await (const line of exportSession(log, session)) lines.push(line);
      const copy = memoryLog();
      await importSession(copy, lines);
      expectEqual((await copy.info(session))?.through, (await log.info(session))?.through);
      await Promise.all([log.close(), copy.close()]);
    },
  },
  {
    name: 'runs a sub-agent',
    async run() {
      const log = memoryLog();
      const expert = createAgent({ log, provider: scriptedProvider(['Forty-two.']) });
      const ask: Part = {
        ...{ kind: 'tool_call', toolCallId: toolCallId('c2'), name: 'expert' },
        arguments: '{"task":"The answer?"}',
      };
      const tool = subAgent({ name: 'expert', description: 'Knows it', agent: expert });
      const provider = scriptedProvider([{ content: { parts: [ask] } }, 'The answer is 42.']);
      const agent = createAgent({ log, provider, tools: [tool] });
      const { text, items } = await agent.run('What is the answer?').result;
      expectEqual(text, 'The answer is 42.');
      expectEqual(JSON.stringify(items).includes('Forty-two.'), true);
      await log.close();
    },
  },
  {
    name: 'writes the same records with the same ids and times',
    async run() {
      const write = async () => {
        const records: LogRecord[] = [];
        const log = memoryLog();
        const ids = countingIds();
        const observers = [(record: LogRecord) => void records.push(record)];
        const provider = scriptedProvider(weatherScript);
        const agent = createAgent({ provider, log, ids, observers, tools: [weather] });
        await agent.run('What is the weather in Bath?').result;
        await log.close();
        return records.map(({ time: _, ...rest }) => rest);
      };
      expectEqual(await write(), await write());
    },
  },
]);

function clientCases(url: string): readonly RuntimeCase[] {
  return [
    {
      name: 'sends a message to a server and follows its answer',
      async run() {
        const client = createClient({ url });
        const task = await client.createTask({ agent: 'weather' });
        await task.send('What is the weather in Bath?');
        const { items } = await task.until(
          ({ items: seen, isRunning }) => textsOf(seen).includes('It rains.') && !isRunning,
        );
        expectEqual(items.length >= 3, true);
        const again = createClient({ url });
        const seen = await again
          .task(task.id)
          .until(({ items: all }) => all.length === items.length);
        expectEqual(textsOf(seen.items), textsOf(items));
        client.close();
        again.close();
      },
    },
  ];
}
