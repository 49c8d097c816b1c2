import { appendFileSync } from 'node:fs';
import { encodeRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import type { Run } from '../../contract/run.ts';
import type { Tool } from '../../contract/tool.ts';
import { createAgent } from '../../create-agent.ts';
import { scenarioObserver, scenarios, scenarioTools } from '../scenarios.ts';

// Runs a scenario on a log file, writes the observed records to a file, and kills itself at the given
// moment. Usage: run-until-killed.ts <log> <lines> <observed> <scenario> fact|append|effect <count>.
const [path = '', lines = '', observed = '', name = '', kind = '', count = ''] =
  process.argv.slice(2);
const scenario = scenarios[name] ?? { script: [] };
let left = Number(count);

function killAt(what: string): void {
  if (what === kind && --left === 0) process.kill(process.pid, 'SIGKILL');
}

/**
 * Returns the tool with a kill of the process right after the tool's effect. All tools are external here,
 * so that they run after the response.
 */
const killing = (tool: Tool): Tool => ({
  ...tool,
  effects: 'external',
  execute(input, context) {
    const execution = tool.execute(input, context);
    killAt('effect');
    return execution;
  },
});

let run: Run | undefined;
const act = scenarioObserver(scenario, () => run as Run);
const agent = createAgent({
  ...scenario.options,
  provider: scriptedProvider(scenario.script, { pieces: 'token', pauseMs: 1 }),
  log: sqliteLog({ path }),
  tools: kind === 'effect' ? scenarioTools(lines).map(killing) : scenarioTools(lines),
  retry: { baseDelayMs: 1 },
  observers: [
    (record) => {
      appendFileSync(observed, `${encodeRecord(record)}\n`);
      if (record.fact !== undefined) killAt('fact');
      if (record.delta?.type === 'append_text') killAt('append');
      act(record);
    },
  ],
});
run = agent.run('Begin', { session: sessionId('s') });
await run.result;
