// An agent delegates part of its work to a sub-agent with its own session. Run it with
//   npx node --conditions=@millrace/source examples/07-subagents/main.ts
import { createAgent, subAgent } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';

const log = memoryLog();
const flightAgent = createAgent({
  provider: scriptedProvider(['The cheapest flight is on Tuesday.'], { pieces: 'token' }),
  instructions: 'You search flights.',
  log,
});
const searchFlights = subAgent({
  name: 'search_flights',
  description: 'Asks the flight agent to search flights',
  agent: flightAgent,
});

const id = toolCallId('call 1');
const call = { kind: 'tool_call', toolCallId: id, name: 'search_flights' } as const;
const travelAgent = createAgent({
  provider: scriptedProvider([
    { content: { parts: [{ ...call, arguments: '{"task":"Find the cheapest flight."}' }] } },
    'Fly on Tuesday: it is the cheapest day.',
  ]),
  tools: [searchFlights],
  log,
});

const run = travelAgent.run('When should I fly to Lisbon?');
for await (const event of run.events) {
  if (event.type === 'tool_execution_started')
    console.log(`[${event.name} runs in its own session]`);
  if (event.type === 'tool_execution_update') process.stdout.write(event.text);
}
console.log(`\n${(await run.result).text}`);
console.log((await log.list()).length, 'sessions');
