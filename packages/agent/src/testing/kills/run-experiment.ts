import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import { z } from 'zod';
import type { Agent } from '../../contract/agent.ts';
import { createAgent } from '../../create-agent.ts';
import { judge, matchesText, runExperiment } from '../../evals/index.ts';
import { defineTool } from '../../tool/define-tool.ts';

// Runs an experiment of variants × cases × repeats until its end, or until the test kills the process. Each run
// has two requests, and its judge has one. Usage: run-experiment.ts <log> <url> <v> <c> <r>.
const [path = '', url = '', variantCount = '', caseCount = '', repeats = ''] =
  process.argv.slice(2);

const log = sqliteLog({ path });
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}), afterCrash: 'repeat' as const },
  execute: async () => 'seen',
});
const provider = (model: string) => openaiChat({ baseUrl: `${url}/v1`, apiKey: 'none', model });
const numbers = (count: string) => Array.from({ length: Number(count) }, (_, index) => index + 1);
const variants = Object.fromEntries(
  numbers(variantCount).map((number) => {
    // The instructions name the session, so the server can count the calls of each run.
    const instructions = (_items: unknown, { session }: { readonly session: string }) => session;
    const options = { log, tools: [look], instructions, provider: provider(`model-${number}`) };
    return [`v${number}`, createAgent(options) as Agent];
  }),
);
const report = await runExperiment({
  ...{ name: 'kills', log, variants, repeats: Number(repeats), concurrency: 6 },
  cases: numbers(caseCount).map((number) => ({
    ...{ id: `c${number}`, input: `Question ${number}`, expected: 'eval/' },
  })),
  scorers: [
    matchesText({ compare: 'contains' }),
    judge({ provider: provider('judge'), criteria: 'The answer names a session.' }),
  ],
});
await log.close();
process.stdout.write(JSON.stringify(report));
