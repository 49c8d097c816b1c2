import { appendFileSync } from 'node:fs';
import { encodeRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import type { Run } from '../contract/run.ts';
import type { Tool } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { actor, scenarios, scenarioTools } from './scenarios.ts';

// Runs a scenario on a file, says outside what it was told, and dies at a moment:
// run-until-killed.ts <file> <lines> <told> <scenario> fact|append|effect <how many of them>.
const [path = '', lines = '', told = '', name = '', kind = '', count = ''] = process.argv.slice(2);
const scenario = scenarios[name] ?? { script: [] };
let left = Number(count);

function killAt(what: string): void {
  if (what === kind && --left === 0) process.kill(process.pid, 'SIGKILL');
}

/** Dies when it has done what it does, and nobody knows; all of them, after the response's own end. */
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
const act = actor(scenario, () => run as Run);
const agent = createAgent({
  ...scenario.options,
  provider: scriptedProvider(scenario.script, { pieces: 'token', pauseMs: 1 }),
  log: sqliteLog({ path }),
  tools: kind === 'effect' ? scenarioTools(lines).map(killing) : scenarioTools(lines),
  retry: { baseDelayMs: 1 },
  observers: [
    (record) => {
      appendFileSync(told, `${encodeRecord(record)}\n`);
      if (record.fact !== undefined) killAt('fact');
      if (record.delta?.type === 'append_text') killAt('append');
      act(record);
    },
  ],
});
run = agent.run('Begin', { session: sessionId('s') });
await run.result;
