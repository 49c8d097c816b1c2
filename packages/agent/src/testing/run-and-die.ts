// Runs a scenario on a file and dies at a record: run-and-die.ts <file> <lines> <scenario> <offset>.
import { sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createAgent } from '../create-agent.ts';
import type { Run } from '../run/run.ts';
import { actor, scenarios, scenarioTools } from './scenarios.ts';

const [path = '', lines = '', name = '', offset = ''] = process.argv.slice(2);
const scenario = scenarios[name] ?? { script: [] };
let run: Run | undefined;
const act = actor(scenario, () => run as Run);
const agent = createAgent({
  ...scenario.options,
  provider: scriptedProvider(scenario.script, { pieces: 'whole' }),
  log: sqliteLog({ path }),
  tools: scenarioTools(lines),
  retry: { baseDelayMs: 1 },
  observers: [
    (record) => {
      if (record.offset >= Number(offset)) process.kill(process.pid, 'SIGKILL');
      act(record);
    },
  ],
});
run = agent.run('Begin', { session: sessionId('s') });
await run.result;
