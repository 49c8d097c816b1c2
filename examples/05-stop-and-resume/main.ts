// A run that is stopped in the middle of a sentence, and a later one that knows what was said. Run it with
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
    'The water comes down the race, and the wheel turns, and the stones turn with the wheel.',
    ({ items }) =>
      `I had said “${items
        .flatMap(({ kind, parts }) => (kind === 'assistant' ? parts : []))
        .map((part) => ('text' in part ? part.text : ''))
        .join('')}”, and you stopped me.`,
  ],
  { pieces: 'token', pauseMs: 10 },
);
const agent = createAgent({ provider, log });
const session = sessionId('the mill');

const first = agent.run('How does a mill work?', { session });
let words = 0;
for await (const event of first.events) {
  if (event.type !== 'assistant_text_delta') continue;
  process.stdout.write(event.text);
  if (++words === 5) await first.abort('that will do');
}
const { stop } = await first.result;
console.log(`\n(${stop.reason})`);

// Another day, another process: the session is in the file.
const { text } = await agent.run('What had you said?', { session }).result;
console.log(text);
await log.close();
rmSync(folder, { recursive: true });
