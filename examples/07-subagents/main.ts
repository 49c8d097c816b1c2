// An agent that has another one do a part of the work, in a session of its own. Run it with
//   npx node --conditions=@millrace/source examples/07-subagents/main.ts
import { createAgent, subAgent } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';

const log = memoryLog();
const surveyor = createAgent({
  provider: scriptedProvider(['The fall is four metres.'], { pieces: 'token' }),
  instructions: 'You measure land.',
  log,
});
const survey = subAgent({
  name: 'survey',
  description: 'Has the surveyor measure something',
  agent: surveyor,
});

const asks = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'survey' } as const;
const miller = createAgent({
  provider: scriptedProvider([
    { content: { parts: [{ ...asks, arguments: '{"task":"Measure the fall of the brook."}' }] } },
    'Four metres: enough for an overshot wheel.',
  ]),
  tools: [survey],
  log,
});

const run = miller.run('Which wheel should we build?');
for await (const event of run.events) {
  if (event.type === 'tool_execution_started')
    console.log(`[${event.name} in a session of its own]`);
  if (event.type === 'tool_execution_update') process.stdout.write(event.text);
}
console.log(`\n${(await run.result).text}`);
console.log((await log.list()).length, 'sessions');
