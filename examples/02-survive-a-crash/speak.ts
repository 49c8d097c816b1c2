// One process: opens the session, ends what an earlier one left open, and answers from there on.
// Everything is in the log before anyone sees it, so whatever was seen is there after any death.
import { parseArgs } from 'node:util';
import {
  agentEvents,
  type DraftRecord,
  Folder,
  randomIds,
  sessionId,
  toArray,
  transcript,
} from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import type { ModelRequest, ResponseEnd } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { endOpen } from './end-open.ts';
import { textOf } from './text-of.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-after': { type: 'string' } },
});
const [path = '', name = ''] = positionals;
const session = sessionId(name);
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
let stepsLeft = Number(values['die-after'] ?? Number.POSITIVE_INFINITY);

const answer = `A millrace is the channel that carries a stream onto the wheel. It is narrow, so that
the water is fast; it has a gate, so that the miller decides; and it never runs two ways at once.
Whatever goes in at the top comes out at the bottom, in order, whoever watches and whoever leaves.`;

// A model that reads what it had said, and goes on after that.
const goesOn = ({ items }: ModelRequest) => answer.slice(items.map(textOf).join('').length);
const provider = scriptedProvider([goesOn], { pieces: 'token', pauseMs: 20 });

const log = sqliteLog({ path });
const driver = await log.open(session, { holder: `process ${process.pid}` });
const folder = new Folder(session);
// A driver's first append gives it all that is there.
folder.addBatch(await driver.append([]));
await tell(endOpen(folder.state));

const turn = 1 + Math.max(0, ...toArray(folder.state.items).map((item) => item.turn));
const item = { id: ids.item(), turn, attempt: 1 };
await tell([of({ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } })]);
const request = { items: transcript(folder.state) };
for await (const { deltas, end } of provider.stream(request, { item, ids })) {
  await tell([...deltas.map((delta) => of({ delta })), ...(end ? [finished(end)] : [])]);
  if (--stepsLeft === 0) process.kill(process.pid, 'SIGKILL');
}
await driver.release();
await log.close();

/** Into the log, then into the fold, then onto the screen. */
async function tell(drafts: readonly DraftRecord[]): Promise<void> {
  folder.addBatch(await driver.append(drafts), (before, record, after) => {
    for (const event of agentEvents(before, record, after)) {
      if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
    }
  });
}

/** Together with its last words, so that a complete answer can be told from a cut one. */
function finished({ stop, usage }: ResponseEnd): DraftRecord {
  return of({ fact: { type: 'response_finished', itemId: item.id, stop, usage } });
}

function of(body: Pick<DraftRecord, 'delta' | 'fact'>): DraftRecord {
  return { turn: item.turn, attempt: item.attempt, ...body } as DraftRecord;
}
