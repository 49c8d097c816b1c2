import process from 'node:process';
import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { userItem } from '../store/session-summaries.ts';

// Drives a session until this process is killed. Arguments: <log file> <session> <text of the
// answer before it stalls>. Prints a line when the log contains the text.
const [path = '', session = '', text = ''] = process.argv.slice(2);
const stalls = { content: { parts: [text] }, fault: { type: 'stall', after: 1 } } as const;
const provider = scriptedProvider([stalls], { pieces: 'whole' });
const agent = createAgent({ provider, log: sqliteLog({ path }), name: 'another terminal' });
const run = agent.run(userItem(['Go'], { cwd: '/folder' }), { session: sessionId(session) });
for await (const event of run.events)
  if (event.type === 'assistant_text_delta') process.stdout.write('"said"\n');
