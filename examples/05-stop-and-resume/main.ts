// Stops a run in the middle of a sentence. A later run continues the same session. Run it with
//   npx node --conditions=@millrace/source examples/05-stop-and-resume/main.ts
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';

const folder = mkdtempSync(join(tmpdir(), 'stop-and-resume-'));
const log = sqliteLog({ path: join(folder, 'sessions.db') });
const provider = scriptedProvider(
  [
    'The forecast for Bath is rain in the morning, sun in the afternoon and wind at night.',
    ({ items }) =>
      `I said “${items
        .flatMap(({ kind, parts }) => (kind === 'assistant' ? parts : []))
        .map((part) => ('text' in part ? part.text : ''))
        .join('')}”, then you stopped me.`,
  ],
  { pieces: 'token', pauseMs: 10 },
);
const agent = createAgent({ provider, log });
const session = sessionId('forecast');

const first = agent.run('What is the forecast for Bath?', { session });
let deltas = 0;
for await (const event of first.events) {
  if (event.type !== 'assistant_text_delta') continue;
  process.stdout.write(event.text);
  if (++deltas === 5) await first.abort('enough');
}
const { stop } = await first.result;
console.log(`\n(${stop.reason})`);

// A different process can also do this on a later day, because the session is stored in the file.
const { text } = await agent.run('What did you say?', { session }).result;
console.log(text);
await log.close();
rmSync(folder, { recursive: true });
