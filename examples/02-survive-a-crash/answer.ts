// The program of one process. It opens the session, closes the parts that an earlier process left
// open, and continues the answer. Each record is written to the log before it is printed, so a
// crash cannot lose printed text.
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
import { closeOpenParts } from './close-open-parts.ts';
import { textOf } from './text-of.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'kill-after': { type: 'string' } },
});
const [path = '', name = ''] = positionals;
const session = sessionId(name);
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
let stepsLeft = Number(values['kill-after'] ?? Number.POSITIVE_INFINITY);

const answer = `Your flight to Lisbon leaves at 9:40 from gate B12. Boarding starts at 9:05, so please
be at the gate by 9:00. You can check in one bag of up to 23 kilograms, and your meal is vegetarian.
The flight takes three hours. At the airport in Lisbon, the red metro line takes you to the city.`;

// A model that reads the stored part of the answer and continues after it.
const continueAnswer = ({ items }: ModelRequest) => answer.slice(items.map(textOf).join('').length);
const provider = scriptedProvider([continueAnswer], { pieces: 'token', pauseMs: 20 });

const log = sqliteLog({ path });
const driver = await log.open(session, { holder: `process ${process.pid}` });
const folder = new Folder(session);
// The first append of a driver returns all records that are already in the log.
folder.addBatch(await driver.append([]));
await publish(closeOpenParts(folder.state));

const turn = 1 + Math.max(0, ...toArray(folder.state.items).map((item) => item.turn));
const item = { id: ids.item(), turn, attempt: 1 };
await publish([draftOf({ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } })]);
const request = { items: transcript(folder.state) };
for await (const { deltas, end } of provider.stream(request, { item, ids })) {
  await publish([
    ...deltas.map((delta) => draftOf({ delta })),
    ...(end ? [responseFinished(end)] : []),
  ]);
  if (--stepsLeft === 0) process.kill(process.pid, 'SIGKILL');
}
await driver.release();
await log.close();

/** Appends the records to the log, then folds them, then prints their text. */
async function publish(drafts: readonly DraftRecord[]): Promise<void> {
  folder.addBatch(await driver.append(drafts), (before, record, after) => {
    for (const event of agentEvents(before, record, after)) {
      if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
    }
  });
}

/**
 * Returns the record that ends the response. It is appended together with the last text. So the log
 * shows whether an answer is complete or was interrupted.
 */
function responseFinished({ stop, usage }: ResponseEnd): DraftRecord {
  return draftOf({ fact: { type: 'response_finished', itemId: item.id, stop, usage } });
}

function draftOf(body: Pick<DraftRecord, 'delta' | 'fact'>): DraftRecord {
  return { turn: item.turn, attempt: item.attempt, ...body } as DraftRecord;
}
